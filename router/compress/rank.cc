// Represents each sentence as a sparse row of term counts. Computes the cheap measures first, then
// TextRank for the best candidates. An inverted index yields the similarities; the power iteration
// adds whole rows, which the compiler can vectorise without changing the order of a sum.

#include "router/compress/rank.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace signalbox::compress {
namespace {

constexpr float kDamping = 0.85f;
constexpr int kIterationsMax = 100;
constexpr float kConverged = 1e-5f;
constexpr size_t kEntropyTermsMin = 4;  // sentences with fewer terms may repeat them
// Sentences with fewer terms are fragments, which carry less information.
constexpr float kFewTerms = 8;

struct Count {
  uint32_t term;
  float count;
};

// One row of counts for each sentence that is not left out.
struct Rows {
  std::vector<uint32_t> sentences;  // (rows): index of the sentence
  std::vector<uint32_t> begins{0};  // (rows + 1): offsets into counts
  std::vector<Count> counts;
  std::vector<float> norms;  // (rows)
  // (rows): factor of the score, the entropy of the row's terms divided by its maximum, and less
  // for a fragment.
  std::vector<float> quality;
  std::vector<uint32_t> document_frequency;  // (vocabulary): number of rows that contain the term
  size_t size() const { return sentences.size(); }
  std::span<const Count> of(size_t row) const {
    return std::span(counts).subspan(begins[row], begins[row + 1] - begins[row]);
  }
};

uint64_t hash_of(std::span<const uint32_t> terms) {
  uint64_t hash = terms.size();
  for (const uint32_t term : terms) {
    hash = (hash ^ term) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

// Returns the sentences that have terms, without exact repetitions. A 64-bit hash identifies the
// terms.
std::vector<uint32_t> distinct(const Sentences& text) {
  std::vector<std::pair<uint64_t, uint32_t>> hashed;
  hashed.reserve(text.sentences.size());
  for (uint32_t i = 0; i < text.sentences.size(); ++i) {
    const std::span<const uint32_t> terms = text.terms_of(text.sentences[i]);
    if (!terms.empty()) hashed.emplace_back(hash_of(terms), i);
  }
  std::sort(hashed.begin(), hashed.end());
  std::vector<uint32_t> out;
  for (size_t i = 0; i < hashed.size(); ++i) {
    if (i == 0 || hashed[i].first != hashed[i - 1].first) out.push_back(hashed[i].second);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Rows rows_of(const Sentences& text) {
  Rows rows;
  rows.sentences = distinct(text);
  rows.document_frequency.assign(text.vocabulary, 0);
  // Position of the term in the current row, if it has one.
  std::vector<uint32_t> place(text.vocabulary);
  for (const uint32_t sentence : rows.sentences) {
    const std::span<const uint32_t> terms = text.terms_of(text.sentences[sentence]);
    const auto begin = static_cast<uint32_t>(rows.counts.size());
    for (const uint32_t term : terms) {
      const uint32_t at = place[term];
      if (at >= begin && at < rows.counts.size() && rows.counts[at].term == term) {
        rows.counts[at].count += 1;
        continue;
      }
      place[term] = static_cast<uint32_t>(rows.counts.size());
      rows.counts.push_back({term, 1});
      ++rows.document_frequency[term];
    }
    const auto n = static_cast<float>(terms.size());
    float squares = 0, entropy = std::log2(n);
    for (size_t i = begin; i < rows.counts.size(); ++i) {
      const float count = rows.counts[i].count;
      squares += count * count;
      if (count > 1) entropy -= count * std::log2(count) / n;
    }
    rows.norms.push_back(std::sqrt(squares));
    const float evenness = terms.size() < kEntropyTermsMin ? 1 : entropy / std::log2(n);
    rows.quality.push_back(evenness * std::min(1.0f, n / kFewTerms));
    rows.begins.push_back(static_cast<uint32_t>(rows.counts.size()));
  }
  return rows;
}

std::vector<float> positions(size_t n, double depth) {
  std::vector<float> out(n, 1);
  for (size_t i = 0; n > 1 && i < n; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(n - 1);
    out[i] = static_cast<float>(1 - depth * std::sin(std::numbers::pi * share));
  }
  return out;
}

// Counts within the sentence would favour sentences that are off the subject, because their words
// are rare. So each term is weighted by its count in the whole text.
std::vector<float> term_weights(const Rows& rows) {
  const auto n = static_cast<float>(rows.size());
  std::vector<float> weight(rows.document_frequency.size(), 0);
  for (const Count& each : rows.counts) weight[each.term] += each.count;
  for (size_t term = 0; term < weight.size(); ++term) {
    const float idf = std::log((n + 1) / (static_cast<float>(rows.document_frequency[term]) + 1));
    weight[term] = std::sqrt(weight[term]) * idf;
  }
  std::vector<float> out(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    float sum = 0, terms = 0;
    for (const Count& each : rows.of(row)) {
      sum += each.count * weight[each.term];
      terms += each.count;
    }
    out[row] = sum / terms;
  }
  return out;
}

std::vector<float> novelties(const Rows& rows) {
  std::vector<float> sums(rows.document_frequency.size(), 0);
  for (const Count& each : rows.counts) sums[each.term] += each.count;
  double squares = 0;
  for (const float sum : sums) squares += static_cast<double>(sum) * sum;
  const auto norm = static_cast<float>(std::sqrt(squares));
  std::vector<float> out(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    float dot = 0;
    for (const Count& each : rows.of(row)) dot += each.count * sums[each.term];
    out[row] = std::max(0.0f, 1 - dot / (rows.norms[row] * norm));
  }
  return out;
}

// Returns the cosines of the chosen rows with each other, (chosen, chosen), with 0 on the diagonal.
std::vector<float> similarities(const Rows& rows, std::span<const uint32_t> chosen) {
  struct Posting {
    uint32_t candidate;
    float weight;
  };
  const size_t n = chosen.size();
  std::vector<uint32_t> ends(rows.document_frequency.size() + 1, 0);
  for (const uint32_t row : chosen) {
    for (const Count& each : rows.of(row)) ++ends[each.term + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Posting> index(ends.back());
  std::vector<float> out(n * n, 0);
  // ends[term] grows from the start of the term's postings to their end.
  std::vector<uint32_t> begins(ends.begin(), ends.end() - 1);
  for (uint32_t i = 0; i < n; ++i) {
    for (const Count& each : rows.of(chosen[i])) {
      const float weight = each.count / rows.norms[chosen[i]];
      const uint32_t end = ends[each.term];
      for (uint32_t p = begins[each.term]; p < end; ++p)
        out[i * n + index[p].candidate] += weight * index[p].weight;
      index[end] = {i, weight};
      ++ends[each.term];
    }
    for (size_t j = 0; j < i; ++j) out[j * n + i] = out[i * n + j];
  }
  return out;
}

// TextRank: each sentence distributes its rank among the sentences similar to it. Returns (chosen).
std::vector<float> text_ranks(const Rows& rows, std::span<const uint32_t> chosen) {
  const size_t n = chosen.size();
  const std::vector<float> similar = similarities(rows, chosen);
  std::vector<float> share(n), rank(n, 1), next(n);
  for (size_t i = 0; i < n; ++i) {
    const float sum = std::accumulate(similar.begin() + static_cast<ptrdiff_t>(i * n),
                                      similar.begin() + static_cast<ptrdiff_t>((i + 1) * n), 0.0f);
    share[i] = sum > 0 ? kDamping / sum : 0;
  }
  for (int iteration = 0; iteration < kIterationsMax; ++iteration) {
    std::fill(next.begin(), next.end(), 1 - kDamping);
    for (size_t i = 0; i < n; ++i) {
      const float shared_rank = share[i] * rank[i];
      const float* row = similar.data() + i * n;
      for (size_t j = 0; j < n; ++j) next[j] += shared_rank * row[j];
    }
    float change = 0;
    for (size_t i = 0; i < n; ++i) change = std::max(change, std::abs(next[i] - rank[i]));
    rank.swap(next);
    if (change < kConverged) break;
  }
  return rank;
}

// Adds weight * measure / (maximum of the measure).
void add(std::vector<float>& scores, const std::vector<float>& measure, double weight,
         std::span<const uint32_t> rows = {}) {
  const float maximum = measure.empty() ? 0 : *std::max_element(measure.begin(), measure.end());
  if (maximum <= 0) return;
  const auto factor = static_cast<float>(weight) / maximum;
  for (size_t i = 0; i < measure.size(); ++i)
    scores[rows.empty() ? i : rows[i]] += factor * measure[i];
}

}  // namespace

std::vector<float> rank(const Sentences& text, const Options& options) {
  const Rows rows = rows_of(text);
  std::vector<float> scores(rows.size(), 0);
  const double sum = options.textrank + options.position + options.tfidf + options.novelty;
  const double scale = sum > 0 ? 1 / sum : 0;
  add(scores, positions(rows.size(), options.position_depth), options.position * scale);
  add(scores, term_weights(rows), options.tfidf * scale);
  add(scores, novelties(rows), options.novelty * scale);
  for (size_t row = 0; row < rows.size(); ++row) scores[row] *= rows.quality[row];

  if (options.textrank > 0 && rows.size() > 1) {
    std::vector<uint32_t> chosen(rows.size());
    std::iota(chosen.begin(), chosen.end(), 0u);
    if (chosen.size() > kCandidates) {
      const auto better = [&](uint32_t a, uint32_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
      };
      std::nth_element(chosen.begin(), chosen.begin() + kCandidates, chosen.end(), better);
      chosen.resize(kCandidates);
      std::sort(chosen.begin(), chosen.end());
    }
    std::vector<float> ranks = text_ranks(rows, chosen);
    for (size_t i = 0; i < chosen.size(); ++i) ranks[i] *= rows.quality[chosen[i]];
    add(scores, ranks, options.textrank * scale, chosen);
  }
  std::vector<float> out(text.sentences.size(), kLeftOut);
  for (size_t row = 0; row < rows.size(); ++row) out[rows.sentences[row]] = scores[row];
  return out;
}

}  // namespace signalbox::compress
