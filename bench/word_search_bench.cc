// The search by words over the greatest store that the defaults allow: 100,000 chunks of 3,200
// bytes. First checks that it finds a number that only one chunk contains.
//
//   build/release/word_search_bench

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>

#include "router/word_search/hybrid.h"
#include "router/word_search/text_words.h"

namespace {

using namespace signalbox::word_search;

constexpr size_t kChunkBytes = 3200, kChunks = 100'000;

/// Chunks of words with a natural distribution of frequencies, each with a number of its own.
std::vector<std::string> chunks(size_t count) {
  uint64_t state = 88172645463325252u;
  const auto draw = [&](uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
  };
  std::vector<std::string> words(50'000), out(count);
  for (std::string& word : words) {
    for (uint64_t left = 2 + draw(8); left > 0; --left) word += "etaoinshrdlcumwfgypb"[draw(20)];
  }
  for (size_t i = 0; i < count; ++i) {
    out[i] = fmt::format("P{:06} ", i);
    while (out[i].size() < kChunkBytes)
      out[i] += words[draw(1 + draw(1 + draw(words.size())))] + " ";
  }
  return out;
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

void build(benchmark::State& state) {
  const auto texts = chunks(1024);
  for (auto _ : state) benchmark::DoNotOptimize(TextWords(views(texts)));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * texts.size()));
}

void search(benchmark::State& state) {
  const auto files = static_cast<size_t>(state.range(0));
  std::vector<TextWords> lists;
  std::string query;
  size_t bytes = 0;
  static const auto texts = chunks(kChunks);
  const auto all = views(texts);
  for (size_t i = 0; i < files; ++i)
    lists.emplace_back(std::span(all).subspan(i * (kChunks / files), kChunks / files));
  query = texts[7].substr(7, 100) + " P077777";  // some twenty common words
  std::vector<const TextWords*> searched;
  for (const TextWords& each : lists) {
    searched.push_back(&each);
    bytes += each.bytes();
  }
  const std::string_view queries[] = {query};
  const auto find = [&] {
    return find_words(searched, query_terms(queries), {}, 50,
                      [] { return signalbox::Result<void>(); });
  };
  const auto once = find();
  SIGNALBOX_CHECK(once && std::ranges::any_of(*once, [&](const WordHit& hit) {
                    return hit.list * (kChunks / files) + hit.text == 77'777;
                  }));
  for (auto _ : state) benchmark::DoNotOptimize(find());
  state.counters["bytes_of_chunk"] = static_cast<double>(bytes) / kChunks;
}

void join(benchmark::State& state) {
  const auto texts = chunks(100);
  std::vector<Candidate> candidates;
  for (const std::string& each : texts) candidates.push_back({each, 0.5, 1});
  for (auto _ : state)
    benchmark::DoNotOptimize(scores_of(candidates, texts[0].substr(0, 100), Hybrid()));
}

BENCHMARK(build)->Unit(benchmark::kMillisecond);
BENCHMARK(search)->Arg(4)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(join)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
