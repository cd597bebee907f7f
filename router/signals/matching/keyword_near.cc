// BM25 and n-gram matchers. Inverted indices map a term or n-gram of the text to the keywords that
// contain it.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.h"
#include "router/signals/matching/keyword_matcher.h"
#include "router/text/bm25.h"

namespace signalbox::signals {
namespace {

std::string_view unit_text(std::string_view text, const text::TextUnit& unit) {
  return text.substr(unit.begin, unit.end - unit.begin);
}

class Bm25 : public KeywordMatcher {
 public:
  explicit Bm25(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t keyword, std::string_view text,
                   const config::KeywordSignal& signal) override {
    SIGNALBOX_TRY(const std::string normalized, normalize_keyword(text, lower_));
    std::vector<text::TextUnit> units;
    text::split_units(normalized, units);
    if (units.empty()) return fail(Code::kInvalid, "expected a keyword with a word in it");
    Document document{keyword, &signal, {}, static_cast<double>(units.size())};
    for (const text::TextUnit& unit : units)
      ++document.counts[std::string(unit_text(normalized, unit))];
    documents_.push_back(std::move(document));
    return {};
  }

  Result<void> finish() override {
    for (size_t begin = 0, end = 0; begin < documents_.size(); begin = end) {
      while (end < documents_.size() && documents_[end].signal == documents_[begin].signal) ++end;
      const auto corpus = std::span(documents_).subspan(begin, end - begin);
      const auto size = static_cast<double>(corpus.size());
      double length = 0;
      std::unordered_map<std::string, double> holders;
      for (const Document& document : corpus) {
        length += document.length / size;
        for (const auto& [term, count] : document.counts) ++holders[term];
      }
      for (size_t i = begin; i < end; ++i) {
        const Document& document = documents_[i];
        for (const auto& [term, count] : document.counts) {
          const double weight = text::Bm25::rarity(size, holders[term]) *
                                text::Bm25().saturation(count, document.length, length);
          index_[term].push_back({static_cast<uint32_t>(i), weight});
        }
      }
    }
    return {};
  }

  void match(KeywordText& text, KeywordHits& hits) const override {
    if (documents_.empty()) return;
    const std::string_view normalized = text.beginning(lower_);
    std::unordered_set<std::string_view> terms;
    std::vector<double> scores(documents_.size(), 0);
    std::string term;
    for (const text::TextUnit& unit : text.units(lower_)) {
      if (!terms.insert(unit_text(normalized, unit)).second) continue;
      term = unit_text(normalized, unit);
      const auto found = index_.find(term);
      if (found == index_.end()) continue;
      for (const Posting& posting : found->second) scores[posting.document] += posting.weight;
    }
    for (size_t i = 0; i < documents_.size(); ++i) {
      if (scores[i] > 0 && scores[i] >= documents_[i].signal->bm25_threshold)
        hits.add(documents_[i].keyword, scores[i]);
    }
  }

 private:
  struct Document {
    uint32_t keyword;
    const config::KeywordSignal* signal;
    std::unordered_map<std::string, double> counts;
    double length;
  };
  struct Posting {
    uint32_t document;
    double weight;
  };
  bool lower_;
  std::vector<Document> documents_;  // those of one signal are adjacent
  std::unordered_map<std::string, std::vector<Posting>> index_;
};

// Writes the sorted hashes of the n-grams of a text. With 64 bits, collisions are negligible.
void grams_of(std::string_view text, uint32_t arity, std::vector<uint64_t>& out) {
  std::u32string padded(arity - 1, U' ');
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded at = utf8::decode(text, i);
    padded.push_back(at.code_point);
    i += at.bytes;
  }
  padded.append(arity - 1, U' ');
  out.clear();
  for (size_t i = 0; i + arity <= padded.size(); ++i) {
    uint64_t hash = 0xcbf29ce484222325u + arity;  // FNV-1a over code points
    for (size_t j = i; j < i + arity; ++j) hash = (hash ^ padded[j]) * 0x100000001b3u;
    out.push_back(hash);
  }
  std::sort(out.begin(), out.end());
}

class Ngrams : public KeywordMatcher {
 public:
  explicit Ngrams(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t keyword, std::string_view text,
                   const config::KeywordSignal& signal) override {
    SIGNALBOX_TRY(const std::string normalized, normalize_keyword(text, lower_));
    std::vector<text::TextUnit> units;
    text::split_units(normalized, units);
    std::vector<uint64_t> grams;
    grams_of(normalized, signal.ngram_arity, grams);
    const auto number = static_cast<uint32_t>(targets_.size());
    const Shape shape{std::max<size_t>(units.size(), 1), signal.ngram_arity};
    if (std::find(shapes_.begin(), shapes_.end(), shape) == shapes_.end()) shapes_.push_back(shape);
    for (size_t i = 0; i < grams.size();) {
      size_t end = i;
      while (end < grams.size() && grams[end] == grams[i]) ++end;
      index_[grams[i]].push_back({number, static_cast<uint32_t>(end - i)});
      i = end;
    }
    targets_.push_back({keyword, shape, grams.size(), signal.ngram_threshold});
    return {};
  }
  Result<void> finish() override { return {}; }

  void match(KeywordText& text, KeywordHits& hits) const override {
    if (targets_.empty()) return;
    const std::string_view normalized = text.beginning(lower_);
    const std::vector<text::TextUnit>& units = text.units(lower_);
    std::vector<uint64_t> grams;
    std::vector<uint32_t> shared(targets_.size(), 0);
    std::vector<uint32_t> touched;
    std::unordered_set<std::string_view> tried;
    for (const Shape& shape : shapes_) {
      tried.clear();
      for (size_t i = 0; i + shape.units <= units.size(); ++i) {
        const text::TextUnit stretch{units[i].begin, units[i + shape.units - 1].end};
        const std::string_view window = unit_text(normalized, stretch);
        if (!tried.insert(window).second) continue;
        grams_of(window, shape.arity, grams);
        count_shared(grams, shape, shared, touched);
        for (const uint32_t number : touched) {
          const Target& target = targets_[number];
          const double both = shared[number];
          const double likeness = both / (static_cast<double>(grams.size() + target.grams) - both);
          if (likeness >= target.threshold) hits.add(target.keyword, likeness);
          shared[number] = 0;
        }
        touched.clear();
      }
    }
  }

 private:
  struct Shape {
    size_t units;
    uint32_t arity;
    bool operator==(const Shape&) const = default;
  };
  struct Target {
    uint32_t keyword;
    Shape shape;
    size_t grams;
    double threshold;
  };
  struct Posting {
    uint32_t target;
    uint32_t count;
  };

  void count_shared(const std::vector<uint64_t>& grams, const Shape& shape,
                    std::vector<uint32_t>& shared, std::vector<uint32_t>& touched) const {
    for (size_t i = 0; i < grams.size();) {
      size_t end = i;
      while (end < grams.size() && grams[end] == grams[i]) ++end;
      const auto found = index_.find(grams[i]);
      if (found != index_.end()) {
        for (const Posting& posting : found->second) {
          if (!(targets_[posting.target].shape == shape)) continue;
          if (shared[posting.target] == 0) touched.push_back(posting.target);
          shared[posting.target] += std::min(posting.count, static_cast<uint32_t>(end - i));
        }
      }
      i = end;
    }
  }

  bool lower_;
  std::vector<Target> targets_;
  std::vector<Shape> shapes_;
  std::unordered_map<uint64_t, std::vector<Posting>> index_;
};

}  // namespace

std::unique_ptr<KeywordMatcher> bm25_matcher(bool lower) {
  return std::make_unique<Bm25>(lower);
}

std::unique_ptr<KeywordMatcher> ngram_matcher(bool lower) {
  return std::make_unique<Ngrams>(lower);
}

}  // namespace signalbox::signals
