// Prints how well texts answer a query, the best first, in C. MODEL is a cross-encoder: it reads
// the query and a text together, and has one output.
//
//   rerank MODEL QUERY TEXT...      prints a line "SCORE TEXT" for each text

#include <signalbox/signalbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, signalbox_last_error());
  return 1;
}

static int rank(const signalbox_model* model, const char* query, char** texts, size_t count) {
  const signalbox_text question = {.bytes = query, .size = strlen(query)};
  signalbox_text* documents = calloc(count, sizeof *documents);
  signalbox_ranked* ranked = calloc(count, sizeof *ranked);
  int status = documents != NULL && ranked != NULL ? 0 : 1;
  for (size_t i = 0; status == 0 && i < count; ++i)
    documents[i] = (signalbox_text){.bytes = texts[i], .size = strlen(texts[i])};
  if (status == 0 &&
      signalbox_rerank(model, 0, &question, documents, count, ranked) != SIGNALBOX_OK)
    status = failed("rerank");
  for (size_t i = 0; status == 0 && i < count; ++i) {
    printf("%.5f %s\n", ranked[i].score, texts[ranked[i].index]);
    if (ranked[i].is_truncated) fprintf(stderr, "rerank: text %zu is cut\n", ranked[i].index + 1);
  }
  free(ranked);
  free(documents);
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
