// A segment bounds the memory that building takes, and lets a search add up scores in an array that
// stays in the cache. The weight of a term is computed at each search, because it depends on all
// texts that the search looks at.

#include "router/word_search/text_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::word_search {
namespace {

constexpr unsigned kCountBits = 6;
constexpr uint32_t kCountMax = (1u << kCountBits) - 1;
static_assert(TextWords::kSegmentTexts << kCountBits == 1u << 16);

constexpr size_t kTermsUsed = 32;
constexpr double kDistinctiveShare = 0.02;
constexpr uint32_t kCodeHoldersMax = 3;

TextWords::Segment segment_of(std::span<const std::string_view> texts) {
  TextWords::Segment out;
  std::vector<std::pair<Term, uint16_t>> found;
  std::vector<Term> terms;
  for (size_t i = 0; i < texts.size(); ++i) {
    terms.clear();
    add_terms(texts[i], terms);
    out.lengths.push_back(static_cast<uint32_t>(terms.size()));
    std::ranges::sort(terms);
    for (size_t at = 0, end = 0; at < terms.size(); at = end) {
      while (end < terms.size() && terms[end] == terms[at]) ++end;
      const auto count = static_cast<uint32_t>(std::min<size_t>(end - at, kCountMax));
      found.emplace_back(terms[at], static_cast<uint16_t>(i << kCountBits | count));
    }
  }
  std::ranges::sort(found);
  out.postings.reserve(found.size());
  for (const auto& [term, posting] : found) {
    if (out.terms.empty() || out.terms.back() != term) {
      out.terms.push_back(term);
      out.begins.push_back(static_cast<uint32_t>(out.postings.size()));
    }
    out.postings.push_back(posting);
  }
  out.begins.push_back(static_cast<uint32_t>(out.postings.size()));
  out.terms.shrink_to_fit();
  out.begins.shrink_to_fit();
  return out;
}

/// A term of the query that texts have.
struct Known {
  Term term;
  uint32_t holders;  // texts that have it
  double rarity = 0;
  bool is_distinctive = false;
};

/// The figures of all texts that a search needs.
struct Corpus {
  double texts = 0, mean_length = 0;
  std::vector<Known> terms = {};
};

Result<Corpus> corpus_of(std::span<const TextWords* const> lists, std::span<const QueryTerm> query,
                         const std::function<Result<void>()>& check) {
  Corpus out;
  double length = 0;
  std::vector<uint32_t> holders(query.size(), 0);
  for (const TextWords* list : lists) {
    for (const TextWords::Segment& segment : list->segments()) {
      SIGNALBOX_TRY_VOID(check());
      out.texts += static_cast<double>(segment.lengths.size());
      for (const uint32_t each : segment.lengths) length += each;
      for (size_t i = 0; i < query.size(); ++i)
        holders[i] += static_cast<uint32_t>(segment.postings_of(query[i].term).size());
    }
  }
  out.mean_length = length / out.texts;
  for (size_t i = 0; i < query.size(); ++i) {
    if (holders[i] == 0) continue;
    const bool is_rare = holders[i] <= kDistinctiveShare * out.texts;
    const bool is_code = query[i].is_code && holders[i] <= kCodeHoldersMax;
    out.terms.push_back(
        {query[i].term, holders[i], text::Bm25::rarity(out.texts, holders[i]), is_rare || is_code});
  }
  std::ranges::stable_sort(out.terms, std::less<>(), &Known::holders);
  out.terms.resize(std::min(out.terms.size(), kTermsUsed));
  return out;
}

bool is_better(const WordHit& a, const WordHit& b) {
  if (a.score != b.score) return a.score > b.score;
  return std::pair(a.list, a.text) < std::pair(b.list, b.text);
}

/// The best hits so far.
class BestHits {
 public:
  explicit BestHits(size_t most) : most_(most) {}
  void offer(const WordHit& hit) {
    if (hits_.size() == most_ && !is_better(hit, hits_.front())) return;
    hits_.push_back(hit);
    std::ranges::push_heap(hits_, is_better);
    if (hits_.size() <= most_) return;
    std::ranges::pop_heap(hits_, is_better);
    hits_.pop_back();
  }
  std::vector<WordHit> take() && {
    std::ranges::sort(hits_, is_better);
    return std::move(hits_);
  }

 private:
  const size_t most_;
  std::vector<WordHit> hits_;  // a heap with the worst one in front
};

void search_segment(const TextWords::Segment& segment, const Corpus& corpus, const text::Bm25& bm25,
                    WordHit at, BestHits& best) {
  std::array<float, TextWords::kSegmentTexts> scores{};
  std::array<bool, TextWords::kSegmentTexts> distinctive{};
  for (const Known& each : corpus.terms) {
    for (const uint16_t posting : segment.postings_of(each.term)) {
      const size_t text = posting >> kCountBits;
      const double share =
          bm25.saturation(posting & kCountMax, segment.lengths[text], corpus.mean_length);
      scores[text] += static_cast<float>(each.rarity * share);
      distinctive[text] |= each.is_distinctive;
    }
  }
  for (size_t text = 0; text < segment.lengths.size(); ++text) {
    if (scores[text] > 0) best.offer({at.list, at.text + text, scores[text], distinctive[text]});
  }
}

}  // namespace

TextWords::TextWords(std::span<const std::string_view> texts) {
  for (size_t begin = 0; begin < texts.size(); begin += kSegmentTexts)
    segments_.push_back(
        segment_of(texts.subspan(begin, std::min(kSegmentTexts, texts.size() - begin))));
}

std::span<const uint16_t> TextWords::Segment::postings_of(Term term) const {
  const auto found = std::ranges::lower_bound(terms, term);
  if (found == terms.end() || *found != term) return {};
  const auto at = static_cast<size_t>(found - terms.begin());
  return std::span(postings).subspan(begins[at], begins[at + 1] - begins[at]);
}

size_t TextWords::bytes() const {
  constexpr size_t kAllocatorBytes = 16;
  size_t out = sizeof(*this) + segments_.capacity() * sizeof(Segment);
  for (const Segment& each : segments_)
    out += 4 * kAllocatorBytes +
           (each.terms.capacity() + each.begins.capacity() + each.lengths.capacity()) * 4 +
           each.postings.capacity() * 2;
  return out;
}

Result<std::vector<WordHit>> find_words(std::span<const TextWords* const> lists,
                                        std::span<const QueryTerm> query, const text::Bm25& bm25,
                                        size_t most, const std::function<Result<void>()>& check) {
  SIGNALBOX_TRY(const Corpus corpus, corpus_of(lists, query, check));
  BestHits best(most);
  if (corpus.terms.empty() || most == 0) return std::move(best).take();
  for (size_t list = 0; list < lists.size(); ++list) {
    WordHit at{list, 0, 0, false};
    for (const TextWords::Segment& segment : lists[list]->segments()) {
      SIGNALBOX_TRY_VOID(check());
      search_segment(segment, corpus, bm25, at, best);
      at.text += TextWords::kSegmentTexts;
    }
  }
  return std::move(best).take();
}

}  // namespace signalbox::word_search
