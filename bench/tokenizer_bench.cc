// Throughput of the tokenizer in MB/s on a generated text with a generated vocabulary: the most
// common English words, the letters, and endings, in the proportions of prose. Also with a limit of
// 512 tokens, where truncated text must cost nothing.

#include <benchmark/benchmark.h>

#include <iterator>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kWords[] = {
    "the",   "of",    "and",   "to",   "in",    "is",   "that",  "it",     "was",   "for",
    "on",    "are",   "with",  "as",   "be",    "at",   "one",   "have",   "this",  "from",
    "what",  "you",   "other", "were", "there", "when", "use",   "your",   "how",   "each",
    "which", "their", "time",  "will", "about", "many", "would", "people", "water", "could"};
constexpr std::string_view kStems[] = {"signal", "model", "test",  "proof",
                                       "number", "look",  "thing", "form"};
constexpr std::string_view kEndings[] = {"s", "ed", "ing", "er", "ly", "ness"};

std::string tokenizer_json() {
  json::Writer out;
  out.begin_object().key("normalizer").begin_object();
  out.member("type", "BertNormalizer")
      .member("clean_text", true)
      .member("handle_chinese_chars", true);
  out.key("strip_accents").null().member("lowercase", true).end_object();
  out.key("pre_tokenizer").begin_object().member("type", "BertPreTokenizer").end_object();
  out.key("model").begin_object().member("type", "WordPiece").member("unk_token", "[UNK]");
  out.member("continuing_subword_prefix", "##").member("max_input_chars_per_word", 100);
  out.key("vocab").begin_object().member("[UNK]", 0);
  int32_t id = 1;
  for (const std::string_view word : kWords) out.member(word, id++);
  for (const std::string_view stem : kStems) out.member(stem, id++);
  for (const std::string_view ending : kEndings) out.member("##" + std::string(ending), id++);
  for (const char* mark : {",", ".", "\xE4\xB8\xAD", "cafe"}) out.member(mark, id++);
  // BERT's vocabulary size, so that the table is as large as in practice.
  for (; id < 30'000; ++id) out.member("filler" + std::to_string(id), id);
  return out.end_object().end_object().end_object().take();
}

// Returns about `bytes` of prose that contains `odd`; sets `tokens` to its number of tokens.
std::string make_text(size_t bytes, std::string_view odd, size_t& tokens) {
  std::string text;
  uint32_t state = 1;
  const auto one_of = [&](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  const auto put = [&](std::string_view piece) {
    text += piece;
    ++tokens;
  };
  for (tokens = 0; text.size() < bytes; text += ' ') {
    if (one_of(4) != 0) {
      put(kWords[one_of(std::size(kWords))]);
    } else if (odd.empty() || one_of(2) == 0) {
      put(kStems[one_of(std::size(kStems))]);
      put(kEndings[one_of(std::size(kEndings))]);
    } else {
      put(odd);
    }
    if (one_of(8) == 0) put(",");
  }
  return text;
}

const Tokenizer& tokenizer() {
  static const auto parsed = [] {
    auto result = Tokenizer::parse(tokenizer_json(), "bench");
    SIGNALBOX_CHECK(result.has_value());
    return *std::move(result);
  }();
  return *parsed;
}

void encode(benchmark::State& state, std::string_view odd, int32_t tokens_max) {
  size_t tokens = 0;
  const std::string text = make_text(static_cast<size_t>(state.range(0)), odd, tokens);
  const EncodeOptions options{.special_tokens = true, .tokens_max = tokens_max};
  Encoding encoding;
  tokenizer().encode(text, options, encoding);
  const size_t expected =
      tokens_max == 0 ? tokens : std::min<size_t>(tokens, static_cast<size_t>(tokens_max));
  if (encoding.ids.size() != expected) return state.SkipWithError("the wrong number of tokens");
  for (const int32_t id : encoding.ids) {
    if (id == 0) return state.SkipWithError("an unknown token");
  }
  for (auto _ : state) tokenizer().encode(text, options, encoding);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * expected));
}

void ascii(benchmark::State& state) {
  encode(state, "", 0);
}
void accents(benchmark::State& state) {
  encode(state, "Caf\xC3\xA9", 0);
}
void chinese(benchmark::State& state) {
  encode(state, "\xE4\xB8\xAD", 0);
}
void cut_at_512(benchmark::State& state) {
  encode(state, "", 512);
}

BENCHMARK(ascii)->Arg(200)->Arg(1 << 20);
BENCHMARK(accents)->Arg(1 << 20);
BENCHMARK(chinese)->Arg(1 << 20);
BENCHMARK(cut_at_512)->Arg(1 << 20);

}  // namespace
}  // namespace signalbox::tokenizer

BENCHMARK_MAIN();
