// Prints every head's answers for texts, in C++.
//
//   classify MODEL TEXT...      prints "HEAD LABEL SCORE" for a head that scores texts, and a line
//                               "HEAD TYPE BEGIN END SCORE" for each span of a head that marks them

#include <signalbox/engine/engine.h>

#include <algorithm>
#include <cstdio>

namespace engine = signalbox::engine;

namespace {

int failed(const signalbox::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

void print(const engine::HeadInfo& head, const engine::Answer& answer) {
  if (head.kind == engine::HeadKind::kSequence) {
    const auto best = std::ranges::max_element(answer.scores);
    std::printf("%s %s %.5f\n", head.name.c_str(),
                head.labels[best - answer.scores.begin()].c_str(), *best);
  }
  for (const engine::Entity& entity : answer.entities) {
    std::printf("%s %s %u %u %.5f\n", head.name.c_str(), entity.type.c_str(), entity.begin,
                entity.end, entity.score);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: classify MODEL TEXT...\n");
    return 2;
  }
  const auto model = engine::TextModel::open(argv[1]);
  if (!model) return failed(model.error());
  std::vector<engine::Input> inputs;
  for (int i = 2; i < argc; ++i) inputs.push_back({argv[i], {}});
  const auto answers = (*model)->answer(inputs);  // (inputs, heads)
  if (!answers) return failed(answers.error());
  const auto heads = (*model)->heads();
  if (heads.empty()) std::fprintf(stderr, "%s: the model has no heads\n", argv[1]);
  for (size_t i = 0; i < answers->size(); ++i) print(heads[i % heads.size()], (*answers)[i]);
  return 0;
}
