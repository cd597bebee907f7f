// Writes the files for the test of the installed library: three small model directories, one that
// scores texts, one that marks spans and one that ranks pairs, and next to each the expected output
// of the examples, as computed by this tree's engine.
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

double similarity(const TextModel& model, std::string_view query, std::string_view text) {
  const std::string_view texts[] = {query, text};
  std::vector<float> vectors(2 * model.dim());
  SIGNALBOX_CHECK(model.embed(texts, vectors));
  return std::inner_product(vectors.begin(), vectors.begin() + model.dim(),
                            vectors.begin() + model.dim(), 0.0, std::plus<>(),
                            [](float a, float b) { return static_cast<double>(a) * b; });
}

std::string classify_output(const TextModel& model, std::string_view query, std::string_view text) {
  const Input inputs[] = {{query, {}}, {text, {}}};
  const std::vector<Answer> answers = model.answer(inputs).value();
  const HeadInfo head = model.heads()[0];
  std::string out;
  for (const Answer& answer : answers) {
    if (!answer.scores.empty()) {
      const auto best = std::ranges::max_element(answer.scores);
      out += fmt::format("{} {} {:.5f}\n", head.name, head.labels[best - answer.scores.begin()],
                         *best);
    }
    for (const Entity& entity : answer.entities) {
      out += fmt::format("{} {} {} {} {:.5f}\n", head.name, entity.type, entity.begin, entity.end,
                         entity.score);
    }
  }
  return out;
}

// A text and its two figures, the better first.
struct Ranked {
  std::string_view text;
  double similarity;
  float score;
};

std::vector<Ranked> rank(const TextModel& embedder, const TextModel& reranker,
                         std::string_view query, std::string_view text) {
  std::vector<Ranked> out;
  for (const std::string_view each : {text, query}) {
    const Input pair[] = {{query, each}};
    out.push_back(
        {each, similarity(embedder, query, each), reranker.answer(pair).value()[0].scores[0]});
  }
  std::ranges::stable_sort(out, std::greater<>(), &Ranked::score);
  return out;
}

std::unique_ptr<const TextModel> make(const std::filesystem::path& directory,
                                      const std::string& config) {
  const RandomNetwork network(fmt::format("{{{}}}", config), true);
  std::filesystem::copy(network.directory(), directory, std::filesystem::copy_options::recursive);
  auto model = TextModel::open(directory);
  SIGNALBOX_CHECK(model);
  return *std::move(model);
}

// Returns a model with a head for `task`.
std::unique_ptr<const TextModel> make(const std::filesystem::path& directory, const char* task,
                                      std::string_view query, std::string_view text) {
  auto model = make(directory, small_modern_bert(fmt::format("ModernBertFor{}", task)));
  const std::string classified = classify_output(*model, query, text);
  std::ofstream(directory / "embed.expected")
      << fmt::format("{:.5f} {}\n", similarity(*model, query, text), text);
  std::ofstream(directory / "classify.expected") << classified;
  std::ofstream(directory / "python.expected") << model->dim() << '\n' << classified;
  return model;
}

void make_reranker(const std::filesystem::path& directory, const TextModel& embedder,
                   std::string_view query, std::string_view text) {
  std::string config = small_modern_bert("ModernBertForSequenceClassification");
  const std::string_view labels = R"("num_labels":5)";
  config.replace(config.find(labels), labels.size(), R"("num_labels":1)");
  const auto model = make(directory, config);
  std::ofstream reranked(directory / "rerank.expected"), found(directory / "search.expected");
  for (const Ranked& each : rank(embedder, *model, query, text)) {
    reranked << fmt::format("{:.5f} {}\n", each.score, each.text);
    found << fmt::format("{:.5f} {:.5f} {}\n", each.similarity, each.score, each.text);
  }
}

}  // namespace
}  // namespace signalbox::engine

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  using signalbox::engine::make;
  const auto scores = make(directory / "scores", "SequenceClassification", argv[2], argv[3]);
  make(directory / "spans", "TokenClassification", argv[2], argv[3]);
  signalbox::engine::make_reranker(directory / "ranks", *scores, argv[2], argv[3]);
}
