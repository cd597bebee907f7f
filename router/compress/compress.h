#pragma once
// Shortens a long text for signals that only need its subject. No text is rewritten: the most
// informative sentences remain, in their order. It uses no model, so it costs little compared with
// the model pass that it saves.
//
// There are three stages. Structure: the beginning and the end stay; of sentences that repeat word
// for word only the first remains. Words: sentences without any word are removed, and sentences
// that repeat the same words get a lower score (by the entropy of their terms). Information: a
// weighted sum of four measures, each divided by its maximum, selects the other sentences:
//   textrank  how similar other sentences are to it (Mihalcea and Tarau, TextRank, EMNLP 2004);
//   position  1 - depth * sin(pi * i / (n - 1)): beginning and end weigh more than the middle;
//   tfidf     mean over its terms of sqrt(occurrences in the text) * ln((n + 1) / (df + 1)), which
//             prefers words that are neither everywhere nor in this sentence only;
//   novelty   1 - the cosine of its terms with those of the whole text.
//
// The time is linear in the text. TextRank, which is quadratic, runs only on the kCandidates
// sentences with the best sum of the other three measures, which are linear. If a text is longer
// than kBytesRead, only that many bytes are read: a quarter of them at each end of the text, the
// rest in evenly spaced samples between.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::compress {

/// Number of sentences for which TextRank is computed.
inline constexpr size_t kCandidates = 500;
/// Bytes of a text that are read.
inline constexpr size_t kBytesRead = size_t{2} << 20;

/// Weights are not negative; only their ratios matter.
struct Options {
  uint32_t tokens_max = 512;  // of the skeleton, at least 32; 0: texts are not shortened
  uint32_t bytes_min = 0;     // texts up to this size are not shortened
  double textrank = 0.20;
  double position = 0.40;
  double tfidf = 0.35;
  double novelty = 0.05;
  double position_depth = 0.5;  // 0 to 1
  uint32_t first = 3;           // sentences that stay if they fit
  uint32_t last = 2;
};

/// Returns the options of "default", "coding", "medical", "security" or "multi_turn"
/// ("multi-turn"); nullopt for another name.
std::optional<Options> profile(std::string_view name);

/// Bytes of the source, half-open.
struct Range {
  uint32_t begin, end;
};

struct Skeleton {
  std::string text;         // the ranges, joined by a space
  std::vector<Range> kept;  // in the order of the source; they neither touch nor overlap
  // Estimated: 1.3 per word, 1.5 per Chinese, Japanese or Korean character.
  double tokens_source = 0;
  double tokens = 0;  // tokens of the skeleton
};

/// Returns nullopt if the text is short enough. Accepts any bytes: bytes that are not UTF-8 count
/// as U+FFFD, and UTF-8 characters are not cut. The same bytes always give the same skeleton.
std::optional<Skeleton> shorten(std::string_view text, const Options& options);

}  // namespace signalbox::compress
