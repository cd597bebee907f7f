// Prints every head's answers for texts, in C.
//
//   answer MODEL TEXT...      prints "HEAD LABEL SCORE" for a head that scores texts, and a line
//                             "HEAD TYPE BEGIN END SCORE" for each span of a head that marks them

#include <signalbox/signalbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, signalbox_last_error());
  return 1;
}

static void print_answer(const signalbox_head* head, const signalbox_answers* answers, size_t text,
                         size_t number) {
  size_t count = 0;
  const float* scores = signalbox_scores(answers, text, number, &count);
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) best = scores[i] > scores[best] ? i : best;
  if (count > 0) printf("%s %s %.5f\n", head->name, head->labels[best], scores[best]);

  const signalbox_entity* entities = signalbox_entities(answers, text, number, &count);
  for (size_t i = 0; entities != NULL && i < count; ++i) {
    printf("%s %s %zu %zu %.5f\n", head->name, entities[i].type, entities[i].begin, entities[i].end,
           entities[i].score);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: answer MODEL TEXT...\n");
    return 2;
  }
  signalbox_model* model = NULL;
  if (signalbox_open(argv[1], NULL, &model) != SIGNALBOX_OK) return failed("open");

  const size_t count = (size_t)argc - 2;
  signalbox_text* texts = calloc(count, sizeof *texts);
  signalbox_answers* answers = NULL;
  int status = texts != NULL ? 0 : 1;
  for (size_t i = 0; status == 0 && i < count; ++i) {
    texts[i].bytes = argv[i + 2];
    texts[i].size = strlen(argv[i + 2]);
  }
  if (status == 0 && signalbox_answer(model, texts, NULL, count, &answers) != SIGNALBOX_OK)
    status = failed("answer");
  if (status == 0) {
    size_t heads_count = 0;
    const signalbox_head* heads = signalbox_heads(model, &heads_count);
    if (heads_count == 0) fprintf(stderr, "%s: the model has no heads\n", argv[1]);
    for (size_t i = 0; i < count; ++i) {
      if (signalbox_is_truncated(answers, i)) fprintf(stderr, "text %zu is cut\n", i + 1);
      for (size_t h = 0; h < heads_count; ++h) print_answer(&heads[h], answers, i, h);
    }
  }
  signalbox_answers_free(answers);
  free(texts);
  signalbox_close(model);
  return status;
}
