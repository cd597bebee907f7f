// Compression of long texts: user time of one core for 200,000 tokens in four scripts, and how the
// time grows with the text. First checks that the skeleton fits the limit and keeps both ends.
//
//   build/release/compress_bench

#include <benchmark/benchmark.h>

#include "base/error.h"
#include "router/compress/compress.h"

namespace {

using namespace signalbox;

// Sentences of random words with a natural distribution of frequencies.
std::string prose(std::string_view letters, size_t letter_bytes, std::string_view space,
                  std::string_view stop, size_t tokens_wanted) {
  uint64_t state = 88172645463325252u;
  const auto draw = [&](uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
  };
  const size_t kinds = letters.size() / letter_bytes;
  std::vector<std::string> words(20000);
  for (std::string& word : words) {
    const uint64_t length = 2 + draw(8);
    for (uint64_t i = 0; i < length; ++i)
      word += letters.substr(draw(kinds) * letter_bytes, letter_bytes);
  }
  std::string out;
  const bool spaced = !space.empty();
  for (double tokens = 0; tokens < static_cast<double>(tokens_wanted);) {
    for (uint64_t left = 5 + draw(25); left > 0; --left) {
      const uint64_t bound = 1 + draw(words.size());
      const std::string& word = words[draw(bound)];
      out += word;
      out += left > 1 ? space : stop;
      tokens += spaced ? 1.3 : 1.5 * static_cast<double>(word.size() / letter_bytes);
    }
    out += space;
  }
  return out;
}

std::string latin(size_t tokens) {
  return prose("etaoinshrdlcumwfgypbvk", 1, " ", ".", tokens);
}

void shorten(benchmark::State& state, const std::string& text) {
  const auto once = compress::shorten(text, {});
  SIGNALBOX_CHECK(once && once->tokens <= 512 && once->kept.front().begin == 0);
  SIGNALBOX_CHECK(once->kept.back().end + 2 >= text.size());
  for (auto _ : state) benchmark::DoNotOptimize(compress::shorten(text, {}));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["tokens"] = once->tokens_source;
}

void english(benchmark::State& state) {
  shorten(state, latin(static_cast<size_t>(state.range(0))));
}
BENCHMARK(english)->Arg(2'000)->Arg(20'000)->Arg(200'000)->Unit(benchmark::kMillisecond);

void russian(benchmark::State& state) {
  shorten(state, prose("оеаинтсрвлкмдпуяыьгзбчй", 2, " ", ".", 200'000));
}
BENCHMARK(russian)->Unit(benchmark::kMillisecond);

void chinese(benchmark::State& state) {
  shorten(state,
          prose("的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生",
                3, "", "。", 200'000));
}
BENCHMARK(chinese)->Unit(benchmark::kMillisecond);

void hindi(benchmark::State& state) {
  shorten(state, prose("अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह", 3, " ", "।", 200'000));
}
BENCHMARK(hindi)->Unit(benchmark::kMillisecond);

// Worst cases: a million sentences of one letter, and one line without a full stop.
void letters(benchmark::State& state) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) {
    text += static_cast<char>('a' + i % 26);
    text += ". ";
  }
  for (auto _ : state) benchmark::DoNotOptimize(compress::shorten(text, {}));
}
BENCHMARK(letters)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
