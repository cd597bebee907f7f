// Writes the files for the test of the installed library: two small model directories, one that
// scores texts and one that marks spans, and next to each the expected output of the examples, as
// computed by this tree's engine.
//
//   make_model DIR QUERY TEXT

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "engine/engine.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

std::string embed_output(const TextModel& model, std::string_view query, std::string_view text) {
  const std::string_view texts[] = {query, text};
  std::vector<float> vectors(2 * model.dim());
  SIGNALBOX_CHECK(model.embed(texts, vectors));
  const double sum = std::inner_product(
      vectors.begin(), vectors.begin() + model.dim(), vectors.begin() + model.dim(), 0.0,
      std::plus<>(), [](float a, float b) { return static_cast<double>(a) * b; });
  return fmt::format("{:.5f} {}\n", sum, text);
}

std::string classify_output(const TextModel& model, std::string_view query, std::string_view text) {
  const Input inputs[] = {{query, {}}, {text, {}}};
  const std::vector<Answer> answers = model.answer(inputs).value();
  std::string out;
  for (const Answer& answer : answers) {
    if (!answer.scores.empty()) {
      const auto best = std::ranges::max_element(answer.scores);
      out +=
          fmt::format("{} {:.5f}\n", model.heads()[0].labels[best - answer.scores.begin()], *best);
    }
    for (const Entity& entity : answer.entities) {
      out += fmt::format("{} {} {} {:.5f}\n", entity.type, entity.begin, entity.end, entity.score);
    }
  }
  return out;
}

void make(const std::filesystem::path& directory, std::string_view architecture,
          std::string_view query, std::string_view text) {
  const RandomNetwork network(fmt::format("{{{}}}", small_modern_bert(architecture)), true);
  std::filesystem::copy(network.directory(), directory, std::filesystem::copy_options::recursive);
  const auto model = TextModel::open(directory);
  SIGNALBOX_CHECK(model);
  std::ofstream(directory / "embed.expected") << embed_output(**model, query, text);
  std::ofstream(directory / "classify.expected") << classify_output(**model, query, text);
}

}  // namespace
}  // namespace signalbox::engine

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  using signalbox::engine::make;
  make(directory / "scores", "ModernBertForSequenceClassification", argv[2], argv[3]);
  make(directory / "spans", "ModernBertForTokenClassification", argv[2], argv[3]);
}
