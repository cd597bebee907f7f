// Chooses the sentences that stay: first both ends of the text, then the best sentences that still
// fit.

#include "router/compress/compress.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "router/compress/rank.h"
#include "router/compress/sentences.h"

namespace signalbox::compress {
namespace {

// Text without full stops is cut into pieces of at most kSentenceTokensMax: an eighth of a typical
// skeleton, and at most a quarter of a small one. A piece of kSentenceTokensMin fits into
// kTokensMin even if it ends with a word of 64 bytes.
constexpr float kSentenceTokensMax = 64;
constexpr float kSentenceTokensMin = 16;
constexpr uint32_t kTokensMin = 32;
constexpr size_t kStretches = 32;     // between the first and the last
constexpr uint32_t kGapBytesMax = 4;  // white space that a range may span

size_t character_start(std::string_view text, size_t at) {
  for (size_t back = 0; back < 4 && back < at && at < text.size(); ++back) {
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) return at - back;
  }
  return at;
}

// Returns the parts of a text that are read: all of it, or the beginning, the end and samples
// between.
std::vector<Stretch> stretches_of(std::string_view text) {
  if (text.size() <= kBytesRead) return {{0, text.size()}};
  constexpr size_t kEnd = kBytesRead / 4, kPiece = kBytesRead / 2 / kStretches;
  const size_t between = text.size() - 2 * kEnd;
  std::vector<Stretch> out{{0, kEnd}};
  for (size_t i = 0; i < kStretches; ++i) {
    const size_t begin = kEnd + (between - kPiece) * i / (kStretches - 1);
    out.push_back({begin, begin + kPiece});
  }
  out.push_back({text.size() - kEnd, text.size()});
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].begin = character_start(text, std::max(out[i].begin, i == 0 ? 0 : out[i - 1].end));
    out[i].end = std::max(out[i].begin, character_start(text, out[i].end));
  }
  return out;
}

// Chooses the sentences that stay, (sentences).
class Choice {
 public:
  Choice(const Sentences& text, const std::vector<float>& scores, const Options& options,
         float tokens_max)
      : text_(text), scores_(scores), room_(tokens_max), taken_(text.sentences.size(), false) {
    take_ends(options);
    take_best();
    // If the text has only punctuation, no sentence is better than another.
    const bool any = std::find(taken_.begin(), taken_.end(), true) != taken_.end();
    for (uint32_t i = 0; !any && i < taken_.size(); ++i) take(i);
  }
  const std::vector<bool>& taken() const { return taken_; }

 private:
  // Takes sentences from both ends in turn, so that a small skeleton has both.
  void take_ends(const Options& options) {
    std::vector<uint32_t> present;
    for (uint32_t i = 0; i < scores_.size(); ++i) {
      if (scores_[i] != kLeftOut) present.push_back(i);
    }
    const size_t n = present.size();
    const size_t first = std::min<size_t>(options.first, n),
                 last = std::min<size_t>(options.last, n);
    for (size_t i = 0; i < std::max(first, last); ++i) {
      if (i < first) take(present[i]);
      if (i < last) take(present[n - 1 - i]);
    }
  }

  void take_best() {
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < scores_.size(); ++i) {
      if (scores_[i] != kLeftOut && !taken_[i]) left.push_back(i);
    }
    const auto better = [&](uint32_t a, uint32_t b) {
      return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
    };
    // Sorts only as many as may fit, because most texts are many times longer than the skeleton.
    for (size_t done = 0; done < left.size() && room_ >= 1;) {
      const size_t more = std::min(left.size(), done + kCandidates);
      std::partial_sort(left.begin() + static_cast<ptrdiff_t>(done),
                        left.begin() + static_cast<ptrdiff_t>(more), left.end(), better);
      for (; done < more; ++done) take(left[done]);
    }
  }

  void take(uint32_t sentence) {
    const float tokens = text_.sentences[sentence].tokens;
    if (taken_[sentence] || tokens > room_) return;
    taken_[sentence] = true;
    room_ -= tokens;
  }

  const Sentences& text_;
  const std::vector<float>& scores_;
  float room_;  // tokens left
  std::vector<bool> taken_;
};

}  // namespace

std::optional<Options> profile(std::string_view name) {
  Options out;
  const auto weigh = [&](double textrank, double position, double tfidf, double novelty) {
    out.textrank = textrank;
    out.position = position;
    out.tfidf = tfidf;
    out.novelty = novelty;
  };
  if (name == "default") return out;
  if (name == "coding") {
    weigh(0.15, 0.30, 0.40, 0.15);
    out.position_depth = 0.6;
    out.first = 2, out.last = 4;
    return out;
  }
  if (name == "medical") {
    weigh(0.20, 0.35, 0.30, 0.15);
    return out;
  }
  if (name == "security") {
    weigh(0.15, 0.30, 0.25, 0.30);
    out.position_depth = 0.6;
    out.first = 2, out.last = 3;
    return out;
  }
  if (name == "multi_turn" || name == "multi-turn") {
    weigh(0.15, 0.25, 0.35, 0.10);
    out.first = 2, out.last = 5;
    return out;
  }
  return std::nullopt;
}

std::optional<Skeleton> shorten(std::string_view text, const Options& options) {
  // A token has at least one byte.
  const size_t bytes_min = std::max(options.bytes_min, options.tokens_max);
  if (options.tokens_max == 0 || text.size() <= bytes_min) return std::nullopt;
  text = text.substr(0, UINT32_MAX);
  const auto tokens_max = static_cast<float>(std::max(options.tokens_max, kTokensMin));
  const std::vector<Stretch> stretches = stretches_of(text);
  const Sentences sentences = split_sentences(
      text, stretches, std::clamp(tokens_max / 4, kSentenceTokensMin, kSentenceTokensMax));
  if (stretches.size() == 1 && sentences.tokens <= tokens_max) return std::nullopt;

  const std::vector<float> scores = rank(sentences, options);
  const Choice choice(sentences, scores, options, tokens_max);
  Skeleton out;
  size_t bytes_read = 0;
  for (const Stretch& stretch : stretches) bytes_read += stretch.end - stretch.begin;
  out.tokens_source = sentences.tokens * static_cast<double>(text.size()) /
                      static_cast<double>(std::max<size_t>(bytes_read, 1));
  uint32_t next = 0;  // the sentence that would extend the last range
  for (uint32_t i = 0; i < sentences.sentences.size(); ++i) {
    if (!choice.taken()[i]) continue;
    const Sentence& sentence = sentences.sentences[i];
    out.tokens += sentence.tokens;
    const bool extends_last =
        !out.kept.empty() && next == i && sentence.begin - out.kept.back().end <= kGapBytesMax;
    if (extends_last) {
      out.kept.back().end = sentence.end;
    } else {
      out.kept.push_back({sentence.begin, sentence.end});
    }
    next = i + 1;
  }
  for (const Range& range : out.kept) {
    if (!out.text.empty()) out.text.push_back(' ');
    out.text += text.substr(range.begin, range.end - range.begin);
  }
  return out;
}

}  // namespace signalbox::compress
