#pragma once
// The engine as a C library: a model directory becomes a handle that turns texts into vectors,
// class scores and marked spans. This is engine.h for other languages, without its types: handles
// are opaque, structs plain, and no exception crosses.
//
// Strings: texts are UTF-8 with a size, need no terminating zero and may hold any bytes; what is
//   not UTF-8 reads as U+FFFD. Paths and all strings that come back end in a zero byte.
// Errors: a function that can fail returns a status. Its message, one line that names what, where
//   and which value, is kept for the calling thread until that thread's next failure. What the
//   function would have written is then not specified, except that handles are NULL.
// Ownership: what signalbox_open and signalbox_answer give is the caller's, until
//   signalbox_close and signalbox_answers_free. Pointers into a handle live as long as it.
//   Arguments are not kept after a call.
// Threads: a model may be used by any number of threads at the same time, and is closed when none
//   uses it. Answers are constant.
// Options: NULL, or all zeros, are the defaults.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct signalbox_model signalbox_model;
typedef struct signalbox_answers signalbox_answers;

typedef enum signalbox_status {
  SIGNALBOX_OK = 0,
  SIGNALBOX_INVALID = 1,      // malformed or contradictory arguments
  SIGNALBOX_TOO_LARGE = 2,    // over a limit
  SIGNALBOX_NOT_FOUND = 3,    // a file that is not there
  SIGNALBOX_UNSUPPORTED = 4,  // a model that is understood, and not built
  SIGNALBOX_CORRUPT = 5,      // a file whose bytes contradict themselves
  SIGNALBOX_IO = 9,           // the operating system said no
  SIGNALBOX_INTERNAL = 11     // out of memory, or a bug
} signalbox_status;

// A status above as a word, "invalid"; "unknown" for another number.
const char* signalbox_status_name(signalbox_status status);

// Of the calling thread's last failure; "" before the first. Never NULL.
const char* signalbox_last_error(void);

// "0.1.0"
const char* signalbox_version(void);

enum { SIGNALBOX_F32 = 0, SIGNALBOX_BF16 = 1, SIGNALBOX_I8 = 2 };

typedef struct signalbox_options {
  int32_t precision;         // SIGNALBOX_F32, SIGNALBOX_BF16 or SIGNALBOX_I8
  int32_t threads;           // of one call, 1 to 256; 0: 1. Results do not depend on it
  const char* const* heads;  // (heads_count) further directories with a head for the same network
  size_t heads_count;
  const char* adapter;  // directory of a low-rank adapter (PEFT) that becomes part of the model
  const char* const* adapters;  // (adapters_count) directories of adapters that share the network:
  size_t adapters_count;        // a text runs with one or none. Not together with `adapter`
} signalbox_options;

// Loads a directory (config.json, model.safetensors, tokenizer.json). The files stay mapped until
// the model is closed and must not be changed meanwhile.
signalbox_status signalbox_open(const char* directory, const signalbox_options* options,
                                signalbox_model** model);
// NULL is fine.
void signalbox_close(signalbox_model* model);

// Numbers of an embedding; layers of the network; most tokens of a text, which is cut after them.
int32_t signalbox_dim(const signalbox_model* model);
int32_t signalbox_layers(const signalbox_model* model);
int32_t signalbox_tokens_max(const signalbox_model* model);

enum { SIGNALBOX_SEQUENCE = 0, SIGNALBOX_TOKENS = 1 };
enum { SIGNALBOX_SOFTMAX = 0, SIGNALBOX_SIGMOID = 1, SIGNALBOX_RAW = 2 };

typedef struct signalbox_head {
  const char* name;  // of the directory that it came from
  int32_t kind;      // SIGNALBOX_SEQUENCE: scores a text; SIGNALBOX_TOKENS: marks spans
  int32_t scores;    // SIGNALBOX_SOFTMAX: add up to 1; SIGNALBOX_SIGMOID: each from 0 to 1;
                     // SIGNALBOX_RAW: any numbers
  const char* const* labels;  // (labels_count)
  size_t labels_count;
  int32_t adapter;  // it answers for texts that run with this one of the options, from 1; 0: none
} signalbox_head;

// The model's heads, (count): the directory's own if it has one, then those of the options' `heads`
// and `adapters`.
const signalbox_head* signalbox_heads(const signalbox_model* model, size_t* count);

typedef struct signalbox_text {
  const char* bytes;
  size_t size;      // bytes, below 4 GiB
  int32_t adapter;  // of the options' `adapters`, from 1; 0: none. Read by signalbox_answer
} signalbox_text;

// How the tokens of a text become one vector; 0 as the model directory says.
enum { SIGNALBOX_POOL_MEAN = 1, SIGNALBOX_POOL_FIRST = 2, SIGNALBOX_POOL_LAST = 3 };

typedef struct signalbox_embed_options {
  int32_t layers;   // leave the network after this many; 0: all
  int32_t dim;      // keep this many numbers, for models trained so (matryoshka); 0: all
  int32_t pooling;  // SIGNALBOX_POOL_..., or 0
  int32_t adapter;  // that the texts run with, of the options' `adapters`, from 1; 0: none
} signalbox_embed_options;

// Writes embeddings of length 1 (Euclidean) to out (count, dim), row-major; out_size is
// count * dim floats, dim that of the options, or signalbox_dim(). A text's embedding does not
// depend on the others.
signalbox_status signalbox_embed(const signalbox_model* model, const signalbox_text* texts,
                                 size_t count, const signalbox_embed_options* options, float* out,
                                 size_t out_size);

// Asks all heads about texts (count), in one pass. pairs: NULL, or (count) second texts, for models
// that judge pairs.
signalbox_status signalbox_answer(const signalbox_model* model, const signalbox_text* texts,
                                  const signalbox_text* pairs, size_t count,
                                  signalbox_answers** answers);
// NULL is fine.
void signalbox_answers_free(signalbox_answers* answers);

// A sequence head's scores of one text, (count), in the order of the head's labels. NULL and 0 for
// a token head, one of another adapter than the text's, or an index out of range.
const float* signalbox_scores(const signalbox_answers* answers, size_t text, size_t head,
                              size_t* count);

typedef struct signalbox_entity {
  const char* type;  // the label without its B-, I-, E- or S-
  size_t begin;      // bytes of the text, half-open, surrounding white space left out
  size_t end;
  float score;  // mean probability of the labels of its tokens
} signalbox_entity;

// The spans that a token head marked in one text, (count), in the order of the text. NULL and 0
// when there are none, for a sequence head or an index out of range.
const signalbox_entity* signalbox_entities(const signalbox_answers* answers, size_t text,
                                           size_t head, size_t* count);

#ifdef __cplusplus
}
#endif
