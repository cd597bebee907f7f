#pragma once
// The engine as a C library: opens a model directory as a handle that converts texts to vectors,
// class scores and marked spans. It offers engine.h to other languages without C++ types: handles
// are opaque, structs are plain, and no exception is thrown.
//
// Strings: texts are UTF-8 with a size, need no terminating zero and may contain any bytes; invalid
//   UTF-8 is read as U+FFFD. Paths and all returned strings are zero-terminated.
// Errors: a function that can fail returns a status. The error message (one line with the problem,
//   the place and the value) is kept for the calling thread until its next failure. After an error
//   the outputs are unspecified, except that handles are NULL.
// Ownership: the caller owns the results of signalbox_open and signalbox_answer, and releases them
//   with signalbox_close and signalbox_answers_free. Pointers obtained from a handle are valid
//   until then. Arguments are not kept after a call.
// Threads: any number of threads may use a model concurrently. Close it when no thread uses it.
//   Answers are constant.
// Options: NULL or all zeros select the defaults.
// Queries: functions without a status return 0 or NULL if the handle is NULL. A pointer to a count
//   may be NULL.

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
  SIGNALBOX_NOT_FOUND = 3,    // a file does not exist
  SIGNALBOX_UNSUPPORTED = 4,  // a valid model that is not supported
  SIGNALBOX_CORRUPT = 5,      // a file contradicts itself
  SIGNALBOX_IO = 9,           // a system call failed
  SIGNALBOX_INTERNAL = 11     // out of memory, or a bug
} signalbox_status;

// Returns the name of a status, such as "invalid"; "unknown" for other numbers.
const char* signalbox_status_name(signalbox_status status);

// Returns the message of the calling thread's last failure; "" before the first. Never NULL.
const char* signalbox_last_error(void);

// Returns the version, such as "0.1.0".
const char* signalbox_version(void);

enum { SIGNALBOX_F32 = 0, SIGNALBOX_BF16 = 1, SIGNALBOX_I8 = 2 };

typedef struct signalbox_options {
  int32_t precision;         // SIGNALBOX_F32, SIGNALBOX_BF16 or SIGNALBOX_I8
  int32_t threads;           // threads per call, 1 to 256; 0: 1. Results do not depend on it
  const char* const* heads;  // (heads_count) additional directories with a head for the same
                             // network
  size_t heads_count;
  const char* adapter;          // directory of a low-rank adapter (PEFT) to merge into the model
  const char* const* adapters;  // (adapters_count) directories of adapters that share the network:
  size_t adapters_count;        // a text runs with one or none. Not together with `adapter`
} signalbox_options;

// Loads a model: a directory with config.json, model.safetensors and tokenizer.json; an adapter; or
// a head, with the model that it belongs to. A head inside an adapter loads all heads of the
// adapter. The files stay mapped and must not be changed until the model is closed.
signalbox_status signalbox_open(const char* directory, const signalbox_options* options,
                                signalbox_model** model);
// NULL is allowed.
void signalbox_close(signalbox_model* model);

// Return the length of an embedding, the number of layers, and the maximum tokens of a text. Of a
// longer text only the beginning is read; see signalbox_windows().
int32_t signalbox_dim(const signalbox_model* model);
int32_t signalbox_layers(const signalbox_model* model);
int32_t signalbox_tokens_max(const signalbox_model* model);

enum { SIGNALBOX_SEQUENCE = 0, SIGNALBOX_TOKENS = 1 };
enum { SIGNALBOX_SOFTMAX = 0, SIGNALBOX_SIGMOID = 1, SIGNALBOX_RAW = 2 };

typedef struct signalbox_head {
  const char* name;  // name of its directory
  int32_t kind;      // SIGNALBOX_SEQUENCE: scores a text; SIGNALBOX_TOKENS: marks spans
  int32_t scores;    // SIGNALBOX_SOFTMAX: add up to 1; SIGNALBOX_SIGMOID: each from 0 to 1;
                     // SIGNALBOX_RAW: any numbers
  const char* const* labels;  // (labels_count)
  size_t labels_count;
  int32_t adapter;  // the only adapter (from 1) whose texts it answers; 0: none
} signalbox_head;

// Returns the model's heads, (count): those of the directory, then those of the options' `heads`
// and `adapters`. Their order may change; find one of several by its name.
const signalbox_head* signalbox_heads(const signalbox_model* model, size_t* count);

typedef struct signalbox_text {
  const char* bytes;
  size_t size;      // bytes, below 4 GiB
  int32_t adapter;  // one of the options' `adapters`, from 1; 0: none. Used by signalbox_answer
} signalbox_text;

// The step from the tokens of a text to one vector; 0: from the model directory.
enum {
  SIGNALBOX_POOL_MEAN = 1,
  SIGNALBOX_POOL_FIRST = 2,
  SIGNALBOX_POOL_LAST = 3,
  SIGNALBOX_POOL_MAX = 4
};

typedef struct signalbox_embed_options {
  int32_t layers;   // stop after this many layers; 0: all
  int32_t dim;      // keep this many numbers, for models trained for it (matryoshka); 0: all
  int32_t pooling;  // SIGNALBOX_POOL_..., or 0
  int32_t adapter;  // one of the options' `adapters`, from 1; 0: none
} signalbox_embed_options;

// Writes embeddings of Euclidean length 1 to out (count, dim), row-major. out_size is count * dim
// floats, where dim comes from the options or signalbox_dim(). A text's embedding does not depend
// on the others.
signalbox_status signalbox_embed(const signalbox_model* model, const signalbox_text* texts,
                                 size_t count, const signalbox_embed_options* options, float* out,
                                 size_t out_size);

// Runs all heads on texts (count) in one pass. pairs: NULL, or (count) second texts for models that
// judge pairs. A text beyond signalbox_tokens_max() is truncated, and of a pair the longer text
// first; signalbox_is_truncated() reports it.
signalbox_status signalbox_answer(const signalbox_model* model, const signalbox_text* texts,
                                  const signalbox_text* pairs, size_t count,
                                  signalbox_answers** answers);
// NULL is allowed.
void signalbox_answers_free(signalbox_answers* answers);

// Returns 1 if a part of the text, or of its pair, was not read because both have more tokens than
// the model reads; otherwise 0.
int32_t signalbox_is_truncated(const signalbox_answers* answers, size_t text);

// Returns a sequence head's scores for one text, (count), in the order of the head's labels. NULL
// and 0 for a token head, for a head of another adapter than the text's, or for an index out of
// range.
const float* signalbox_scores(const signalbox_answers* answers, size_t text, size_t head,
                              size_t* count);

typedef struct signalbox_entity {
  const char* type;  // the label without its B-, I-, E- or S-
  size_t begin;      // bytes in the text, half-open, without surrounding white space
  size_t end;
  float score;  // mean probability of its tokens' labels
} signalbox_entity;

// Returns the spans that a token head marked in one text, (count), in text order. NULL and 0 if
// there are none, for a sequence head, or for an index out of range.
const signalbox_entity* signalbox_entities(const signalbox_answers* answers, size_t text,
                                           size_t head, size_t* count);

// Splits a long text into windows of at most `tokens` tokens, which the model reads completely.
// They cover the text, overlap by an eighth and are parts of text->bytes. tokens: 16 to
// signalbox_tokens_max(); 0: 256, or the model's limit if that is less, as the router reads texts.
// Writes the first `capacity` windows and their number, which may be greater; windows may be NULL
// if capacity is 0. A text without tokens has no windows.
// To classify a long text, pass its windows to signalbox_answer(). A guard's result is that of the
// window with the highest probability of an attack. For other classes, take the mean of the scores,
// weighted by the size of the windows. Spans count from the beginning of their window, and two
// windows may mark the same one.
signalbox_status signalbox_windows(const signalbox_model* model, const signalbox_text* text,
                                   int32_t tokens, signalbox_text* windows, size_t capacity,
                                   size_t* count);

typedef struct signalbox_ranked {
  size_t index;  // of the document
  float score;
  int32_t is_truncated;  // 1: a part of the query or of the document was not read
} signalbox_ranked;

// Orders documents (count) by their relevance to a query with a cross-encoder: a sequence head with
// one label. Writes them to out (count), best first. A document that the model cannot read together
// with the query is read in at most 64 windows and has the score of its best one; the query then
// has at most half of the model's tokens. The texts run with the head's adapter; a text may name it
// or 0, and another one is SIGNALBOX_INVALID.
signalbox_status signalbox_rerank(const signalbox_model* model, size_t head,
                                  const signalbox_text* query, const signalbox_text* documents,
                                  size_t count, signalbox_ranked* out);

#ifdef __cplusplus
}
#endif
