// Prints how well texts answer a query, the best first, in C. MODEL is a cross-encoder: it reads the
// query and a text together, and has one output.
//
//   rerank MODEL QUERY TEXT...      prints a line "SCORE TEXT" for each text

#include <signalbox/signalbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ranked {
  float score;
  const char* text;
} ranked;

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, signalbox_last_error());
  return 1;
}

static int by_score(const void* a, const void* b) {
  const float x = ((const ranked*)a)->score, y = ((const ranked*)b)->score;
  return x < y ? 1 : x > y ? -1 : 0;
}

static int rank(const signalbox_model* model, const char* query, char** texts, size_t count) {
  signalbox_text* pairs = calloc(2 * count, sizeof *pairs);  // queries, then texts
  ranked* results = calloc(count, sizeof *results);
  signalbox_answers* answers = NULL;
  int status = pairs != NULL && results != NULL ? 0 : 1;
  for (size_t i = 0; status == 0 && i < count; ++i) {
    pairs[i] = (signalbox_text){.bytes = query, .size = strlen(query)};
    pairs[count + i] = (signalbox_text){.bytes = texts[i], .size = strlen(texts[i])};
  }
  if (status == 0 &&
      signalbox_answer(model, pairs, pairs + count, count, &answers) != SIGNALBOX_OK)
    status = failed("answer");
  for (size_t i = 0; status == 0 && i < count; ++i) {
    size_t outputs = 0;
    const float* scores = signalbox_scores(answers, i, 0, &outputs);
    if (outputs != 1) {
      fprintf(stderr, "rerank: the model has %zu outputs, expected one\n", outputs);
      status = 1;
    } else {
      results[i] = (ranked){scores[0], texts[i]};
    }
  }
  if (status == 0) {
    qsort(results, count, sizeof *results, by_score);
    for (size_t i = 0; i < count; ++i) printf("%.5f %s\n", results[i].score, results[i].text);
  }
  signalbox_answers_free(answers);
  free(results);
  free(pairs);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: rerank MODEL QUERY TEXT...\n");
    return 2;
  }
  signalbox_model* model = NULL;
  if (signalbox_open(argv[1], NULL, &model) != SIGNALBOX_OK) return failed("open");
  const int status = rank(model, argv[2], argv + 3, (size_t)argc - 3);
  signalbox_close(model);
  return status;
}
