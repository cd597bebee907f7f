#pragma once
// A long text made short for those who only have to tell what it is about. Nothing is written anew:
// of its sentences the most telling ones remain, in their order. No model, so that it costs little
// beside the pass of a model that it saves.
//
// Three stages. Structure: beginning and end stay; of what repeats word for word the first remains.
// Words: sentences without any go, and those that say one thing over and over count for less (the
// entropy of their terms). Information: a weighted sum of four measures, each divided by its
// greatest value, decides on the others:
//   textrank  how much other sentences resemble it (Mihalcea and Tarau, TextRank, EMNLP 2004);
//   position  1 - depth * sin(pi * i / (n - 1)): beginning and end count for more than the middle;
//   tfidf     mean over its terms of sqrt(occurrences in the text) * ln((n + 1) / (df + 1)): words
//             that are neither everywhere nor nowhere else;
//   novelty   1 - the cosine of its terms with those of the whole text.
//
// Time is linear in the text: TextRank, which is quadratic, sees the kCandidates sentences that the
// other three measures, which are linear, put first; of texts over kBytesRead the first and the
// last quarter of that is read, and evenly spaced stretches between.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::compress {

/// Sentences among which TextRank is computed.
inline constexpr size_t kCandidates = 500;
/// Bytes of a text that are looked at.
inline constexpr size_t kBytesRead = size_t{2} << 20;

/// Weights are not negative; what counts is their share in their sum.
struct Options {
  uint32_t tokens_max = 512;  // of the skeleton, 32 at least; 0: texts stay as they are
  uint32_t bytes_min = 0;     // texts up to this stay as they are
  double textrank = 0.20;
  double position = 0.40;
  double tfidf = 0.35;
  double novelty = 0.05;
  double position_depth = 0.5;  // 0 to 1
  uint32_t first = 3;           // sentences that stay where they fit
  uint32_t last = 2;
};

/// "default", "coding", "medical", "security", "multi_turn" (or "multi-turn"); nothing for another.
std::optional<Options> profile(std::string_view name);

/// Bytes of the source, half-open.
struct Range {
  uint32_t begin, end;
};

struct Skeleton {
  std::string text;          // the ranges, joined by a space
  std::vector<Range> kept;   // in the order of the source; they neither touch nor overlap
  double tokens_source = 0;  // estimated: 1.3 a word, 1.5 a Chinese, Japanese or Korean character
  double tokens = 0;         // of the skeleton
};

/// Nothing when the text is short enough as it is. Any bytes will do; what is not UTF-8 reads as
/// U+FFFD and is cut at no other place than UTF-8 is. The same bytes give the same skeleton.
std::optional<Skeleton> shorten(std::string_view text, const Options& options);

}  // namespace signalbox::compress
