// Splits the question and the texts together, so that equal terms have equal numbers.

#include "router/compress/passages.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "router/compress/rank.h"
#include "router/text/bm25.h"

namespace signalbox::compress {
namespace {

// The share of a passage's score that is added to its neighbour. The neighbour's neighbour gets
// this share of that share, and so on. With 0, half of the lines that answer questions about tables
// are kept; with this value, two thirds (300 questions of BIPIA's training set, twenty tables each,
// shortened from 8,500 to 1,000 tokens).
constexpr float kNear = 0.85f;

// The answer to a question is often near the text that shares its words, such as the rows below a
// header.
std::vector<float> with_neighbours(const std::vector<float>& scores) {
  std::vector<float> near = scores;
  for (size_t i = 1; i < near.size(); ++i) near[i] = std::max(near[i], kNear * near[i - 1]);
  for (size_t i = near.size(); i-- > 1;) near[i - 1] = std::max(near[i - 1], kNear * near[i]);
  for (size_t i = 0; i < near.size(); ++i) near[i] += scores[i];
  return near;
}

}  // namespace

Passages::Passages(std::span<const std::string_view> texts, std::string_view question,
                   float tokens_max)
    : joined_(question) {
  std::vector<Stretch> stretches{{0, joined_.size()}};
  for (const std::string_view text : texts) {
    begins_.push_back(joined_.size());
    joined_ += text;
    stretches.push_back({begins_.back(), joined_.size()});
  }
  begins_.push_back(joined_.size());
  passages_ = split_sentences(joined_, stretches, tokens_max, Numbers::kDistinct);
  std::vector<uint32_t> terms;
  const auto end_of_question = std::ranges::find_if(
      passages_.sentences, [&](const Sentence& each) { return each.begin >= question.size(); });
  for (auto each = passages_.sentences.begin(); each != end_of_question; ++each) {
    const auto of = passages_.terms_of(*each);
    terms.insert(terms.end(), of.begin(), of.end());
  }
  passages_.sentences.erase(passages_.sentences.begin(), end_of_question);
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  set_order(terms);
}

// Returns the passages' scores by BM25 and sets the relevance.
std::vector<float> Passages::scores(std::span<const uint32_t> question_terms) {
  const size_t n = passages_.sentences.size();
  std::vector<float> out(n, 0);
  // By term: 0 for one that the question does not have, otherwise 1 and the place in frequency.
  std::vector<uint32_t> places(passages_.vocabulary, 0);
  for (uint32_t i = 0; i < question_terms.size(); ++i) places[question_terms[i]] = i + 1;
  struct Hit {
    uint32_t passage, place;
    float count;
  };
  std::vector<Hit> hits;
  std::vector<float> frequency(question_terms.size(), 0);  // passages that contain the term
  std::vector<uint32_t> found;
  size_t terms = 0;
  for (uint32_t i = 0; i < n; ++i) {
    found.clear();
    for (const uint32_t term : passages_.terms_of(passages_.sentences[i])) {
      ++terms;
      if (places[term] != 0) found.push_back(places[term] - 1);
    }
    std::ranges::sort(found);
    for (size_t at = 0; at < found.size();) {
      size_t end = at;
      while (end < found.size() && found[end] == found[at]) ++end;
      hits.push_back({i, found[at], static_cast<float>(end - at)});
      frequency[found[at]] += 1;
      at = end;
    }
  }
  const float mean = static_cast<float>(terms) / static_cast<float>(std::max<size_t>(n, 1));
  for (const Hit& hit : hits) {
    const Sentence& passage = passages_.sentences[hit.passage];
    const auto length = static_cast<float>(passage.terms_end - passage.terms_begin);
    out[hit.passage] +=
        static_cast<float>(text::Bm25::rarity(static_cast<double>(n), frequency[hit.place]) *
                           text::Bm25().saturation(hit.count, length, mean));
  }
  const auto shared = std::ranges::count_if(frequency, [](float each) { return each > 0; });
  if (!question_terms.empty())
    relevance_ = static_cast<double>(shared) / static_cast<double>(question_terms.size());
  return out;
}

void Passages::set_order(std::span<const uint32_t> question_terms) {
  const std::vector<float> score = with_neighbours(scores(question_terms));
  const std::vector<float> information = rank(passages_, {.textrank = 0});
  order_.resize(passages_.sentences.size());
  std::iota(order_.begin(), order_.end(), 0u);
  // A passage that repeats another one comes last.
  std::ranges::sort(order_, [&](uint32_t a, uint32_t b) {
    const bool a_repeats = information[a] == kLeftOut, b_repeats = information[b] == kLeftOut;
    if (a_repeats != b_repeats) return b_repeats;
    if (score[a] != score[b]) return score[a] > score[b];
    return information[a] != information[b] ? information[a] > information[b] : a < b;
  });
  if (order_.size() < 3) return;
  // The first passage often introduces the others, and the last one often has a sum or an error.
  const auto last = static_cast<uint32_t>(order_.size() - 1);
  for (const uint32_t end : {last, 0u}) {
    const auto at = std::ranges::find(order_, end);
    if (at > order_.begin() + 1) std::rotate(order_.begin() + 1, at, at + 1);
  }
}

size_t Passages::text_of(const Sentence& passage) const {
  const auto next = std::ranges::upper_bound(begins_, static_cast<size_t>(passage.begin));
  return static_cast<size_t>(next - begins_.begin()) - 1;
}

// The white space between two passages belongs to the first one.
size_t Passages::begin_of_next(size_t passage) const {
  const Sentence& self = passages_.sentences[passage];
  if (passage + 1 == passages_.sentences.size()) return self.end;
  return std::min<size_t>(passages_.sentences[passage + 1].begin, begins_[text_of(self) + 1]);
}

std::vector<std::vector<Range>> Passages::choose(size_t bytes_max, size_t gap_bytes) const {
  const size_t texts = begins_.size() - 1;
  std::vector<bool> taken(passages_.sentences.size(), false);
  // There is a gap before each passage, and one at the end of each text.
  size_t bytes = texts * gap_bytes;
  for (const uint32_t i : order_) {
    const size_t more = begin_of_next(i) - passages_.sentences[i].begin + gap_bytes;
    if (bytes + more > bytes_max) continue;
    taken[i] = true;
    bytes += more;
  }
  std::vector<std::vector<Range>> out(texts);
  for (uint32_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) continue;
    const Sentence& passage = passages_.sentences[i];
    const size_t text = text_of(passage);
    const auto begin = static_cast<uint32_t>(begins_[text]);
    std::vector<Range>& kept = out[text];
    const Range range{passage.begin - begin, passage.end - begin};
    if (!kept.empty() && taken[i - 1]) {
      kept.back().end = range.end;
    } else {
      kept.push_back(range);
    }
  }
  return out;
}

}  // namespace signalbox::compress
