// Prints how similar texts are to a query, in C.
//
//   embed MODEL QUERY TEXT...      prints a line "SIMILARITY TEXT" for each text

#include <signalbox/signalbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, signalbox_last_error());
  return 1;
}

// Prints the dot product of the first vector with each of the others. The vectors (count, dim) have
// length 1, so these are cosines.
static void print_similarities(const float* vectors, size_t count, size_t dim,
                               const signalbox_text* texts) {
  for (size_t i = 1; i < count; ++i) {
    double sum = 0;
    for (size_t k = 0; k < dim; ++k) sum += (double)vectors[k] * vectors[i * dim + k];
    printf("%.5f %s\n", sum, texts[i].bytes);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: embed MODEL QUERY TEXT...\n");
    return 2;
  }
  signalbox_model* model = NULL;
  if (signalbox_open(argv[1], NULL, &model) != SIGNALBOX_OK) return failed("open");

  const size_t count = (size_t)argc - 2;
  const size_t dim = (size_t)signalbox_dim(model);
  signalbox_text* texts = calloc(count, sizeof *texts);
  float* vectors = calloc(count * dim, sizeof *vectors);  // (count, dim)
  int status = texts != NULL && vectors != NULL ? 0 : 1;
  if (status == 0) {
    for (size_t i = 0; i < count; ++i) {
      texts[i].bytes = argv[i + 2];
      texts[i].size = strlen(argv[i + 2]);
    }
    if (signalbox_embed(model, texts, count, NULL, vectors, count * dim) == SIGNALBOX_OK) {
      print_similarities(vectors, count, dim, texts);
    } else {
      status = failed("embed");
    }
  }
  free(vectors);
  free(texts);
  signalbox_close(model);
  return status;
}
