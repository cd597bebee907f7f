// N-grams are compared among the candidates only: an index of them would be larger than the texts.

#include "router/word_search/hybrid.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "base/fnv.h"
#include "base/utf8.h"
#include "router/word_search/terms.h"

namespace signalbox::word_search {
namespace {

constexpr size_t kGramBytesMax = size_t{16} << 10;  // of one text

/// The different n-grams of a text in lower case, as hashes; a shorter text is one n-gram. A table
/// with open addressing, because a search makes some hundred of them.
class Grams {
 public:
  Grams(std::string_view text, size_t size) {
    const std::string normal = normal_of(text.substr(0, kGramBytesMax));
    std::vector<char32_t> letters;
    for (size_t at = 0; at < normal.size();) {
      const utf8::Decoded decoded = utf8::decode(normal, at);
      letters.push_back(decoded.code_point);
      at += decoded.bytes;
    }
    slots_.resize(std::bit_ceil(2 * letters.size() + 1), 0);
    const size_t used = std::min(size, letters.size());
    for (size_t begin = 0; used > 0 && begin + used <= letters.size(); ++begin) {
      Fnv hash;
      for (size_t i = begin; i < begin + used; ++i) hash.add(letters[i]);
      uint64_t& slot = slots_[place_of(hash.get())];
      count_ += slot == 0 ? 1 : 0;
      slot = hash.get();
    }
  }

  /// The share of the n-grams of both texts that both have (Jaccard).
  double common(const Grams& with) const {
    const auto both = static_cast<double>(std::ranges::count_if(slots_, [&](uint64_t each) {
      return each != 0 && with.slots_[with.place_of(each)] == each;
    }));
    const double all = static_cast<double>(count_ + with.count_) - both;
    return all == 0 ? 0 : both / all;
  }

 private:
  /// Returns the slot of the n-gram, or the free slot for it.
  size_t place_of(uint64_t hash) const {
    size_t at = (hash ^ (hash >> 32)) & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<uint64_t> slots_;  // 0: empty; more than the n-grams
  size_t count_ = 0;
};

/// Adds the score of each value's rank to `out`; the first rank scores `weight`. Values up to
/// `least` have no rank. Equal values have the same rank.
void add_ranks(std::span<const double> values, double least, double weight, double constant,
               std::vector<double>& out) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::greater<>(), [&](size_t i) { return values[i]; });
  double rank = 1;
  for (size_t i = 0; i < order.size() && values[order[i]] > least; ++i) {
    if (i > 0 && values[order[i]] < values[order[i - 1]]) rank = static_cast<double>(i + 1);
    out[order[i]] += weight * (constant + 1) / (constant + rank);
  }
}

}  // namespace

Hybrid ranks() {
  return {.mode = Hybrid::Mode::kRanks, .vector_weight = 1, .bm25_weight = 1, .ngram_weight = 1};
}

std::vector<double> scores_of(std::span<const Candidate> candidates, std::string_view query,
                              const Hybrid& hybrid) {
  const double all = hybrid.vector_weight + hybrid.bm25_weight + hybrid.ngram_weight;
  std::vector<double> out(candidates.size(), 0), cosines, words, grams(candidates.size(), 0);
  double best = 0;
  for (const Candidate& each : candidates) {
    cosines.push_back(each.cosine);
    words.push_back(each.words);
    best = std::max(best, each.words);
  }
  if (hybrid.ngram_weight > 0) {
    const Grams of_query(query, hybrid.ngram_size);
    for (size_t i = 0; i < candidates.size(); ++i)
      grams[i] = of_query.common(Grams(candidates[i].text, hybrid.ngram_size));
  }
  if (hybrid.mode == Hybrid::Mode::kRanks) {
    const double constant = hybrid.rank_constant;
    add_ranks(cosines, -2, hybrid.vector_weight / all, constant, out);
    add_ranks(words, best / 2, hybrid.bm25_weight / all, constant, out);
    add_ranks(grams, 0, hybrid.ngram_weight / all, constant, out);
    return out;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const double share = best > 0 ? words[i] / best : 0;
    out[i] = (hybrid.vector_weight * std::clamp(cosines[i], 0.0, 1.0) + hybrid.bm25_weight * share +
              hybrid.ngram_weight * grams[i]) /
             all;
  }
  return out;
}

}  // namespace signalbox::word_search
