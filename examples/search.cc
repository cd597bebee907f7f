// Finds the texts that answer a query, in C++: the nearest by their vectors, then ordered by a
// cross-encoder that reads the query and a text together.
//
//   search EMBEDDER RERANKER QUERY TEXT...      prints a line "SIMILARITY SCORE TEXT" for each of
//                                               the three nearest texts, the best first

#include <signalbox/engine/engine.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

namespace engine = signalbox::engine;

namespace {

struct Found {
  std::string_view text;
  float similarity = 0;  // cosine
  float score = 0;
};

template <class T>
T value_or_exit(signalbox::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

// Vectors have length 1, so the dot product is the cosine.
std::vector<Found> nearest(const engine::TextModel& embedder, std::string_view query,
                           const std::vector<std::string_view>& texts) {
  const size_t dim = embedder.dim();
  std::vector<std::string_view> all{query};
  all.insert(all.end(), texts.begin(), texts.end());
  std::vector<float> vectors(all.size() * dim);  // (all, dim)
  if (const auto done = embedder.embed(all, vectors); !done) {
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    std::exit(1);
  }
  std::vector<Found> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto own = vectors.begin() + (i + 1) * dim;
    out.push_back({texts[i], std::inner_product(own, own + dim, vectors.begin(), 0.0f)});
  }
  std::ranges::stable_sort(out, std::greater<>(), &Found::similarity);
  out.resize(std::min<size_t>(out.size(), 3));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: search EMBEDDER RERANKER QUERY TEXT...\n");
    return 2;
  }
  const std::string_view query = argv[3];
  const auto embedder = value_or_exit(engine::TextModel::open(argv[1]));
  const auto reranker = value_or_exit(engine::TextModel::open(argv[2]));
  std::vector<Found> found = nearest(*embedder, query, {argv + 4, argv + argc});
  std::vector<engine::Input> inputs;
  for (const Found& each : found) inputs.push_back({query, each.text});
  const auto answers = value_or_exit(reranker->answer(inputs));  // (inputs, heads)
  const size_t heads = reranker->heads().size();
  if (heads == 0 || answers[0].scores.size() != 1) {
    std::fprintf(stderr, "%s: expected a model with one output\n", argv[2]);
    return 1;
  }
  for (size_t i = 0; i < found.size(); ++i) found[i].score = answers[i * heads].scores[0];
  std::ranges::stable_sort(found, std::greater<>(), &Found::score);
  for (const Found& each : found) {
    std::printf("%.5f %.5f %.*s\n", each.similarity, each.score, static_cast<int>(each.text.size()),
                each.text.data());
  }
  return 0;
}
