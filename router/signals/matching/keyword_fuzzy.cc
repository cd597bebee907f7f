// If a keyword occurs with at most d edits and is cut into d + 1 pieces, at least one piece is
// unchanged. So one automaton searches for the pieces of all keywords, and the distance is computed
// only where a piece occurs.

#include <algorithm>
#include <map>
#include <optional>

#include "base/utf8.h"
#include "router/signals/matching/keyword_automaton.h"
#include "router/signals/matching/keyword_matcher.h"

namespace signalbox::signals {
namespace {

constexpr double kDefaultLikeness = 0.8;
// A threshold up to this is a number of edits, as in the Semantic Router's older files; above, a
// percentage.
constexpr double kEditsMax = 10;

std::u32string code_points(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded at = utf8::decode(text, i);
    out.push_back(at.code_point);
    i += at.bytes;
  }
  return out;
}

// Levenshtein's distance, computed one row of the table at a time.
size_t distance(const std::u32string& a, const std::u32string& b, std::vector<size_t>& row) {
  row.resize(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

class Fuzzy : public KeywordMatcher {
 public:
  explicit Fuzzy(bool lower) : lower_(lower) {}

  Result<void> add(uint32_t keyword, std::string_view text,
                   const config::KeywordSignal& signal) override {
    SIGNALBOX_TRY(const std::string normalized, normalize_keyword(text, lower_));
    std::vector<text::TextUnit> units;
    text::split_units(normalized, units);
    Target target{keyword, code_points(normalized), std::max<size_t>(units.size(), 1)};
    const size_t edits_max = set_limit(signal.fuzzy_threshold, target);
    const auto number = static_cast<uint32_t>(targets_.size());
    const size_t pieces = std::min(edits_max + 1, target.text.size());
    for (size_t i = 0; i < pieces; ++i) {
      const size_t begin = i * target.text.size() / pieces;
      const size_t end = (i + 1) * target.text.size() / pieces;
      std::string piece;
      for (size_t c = begin; c < end; ++c) utf8::append(piece, target.text[c]);
      const auto [known, fresh] = numbers_.emplace(piece, static_cast<uint32_t>(owners_.size()));
      if (fresh) {
        pieces_.push_back(piece);
        owners_.emplace_back();
      }
      if (owners_[known->second].empty() || owners_[known->second].back() != number)
        owners_[known->second].push_back(number);
    }
    targets_.push_back(std::move(target));
    return {};
  }

  Result<void> finish() override {
    SIGNALBOX_TRY(automaton_, KeywordAutomaton::build(pieces_));
    return {};
  }

  void match(KeywordText& text, KeywordHits& hits) const override {
    if (targets_.empty()) return;
    const std::string_view normalized = text.beginning(lower_);
    const std::vector<text::TextUnit>& units = text.units(lower_);
    if (units.empty()) return;
    Scratch scratch;
    scratch.tried.assign(targets_.size(), UINT32_MAX);
    uint32_t unit = 0;
    automaton_.scan(normalized, [&](uint32_t piece, size_t end) {
      const size_t begin = end - pieces_[piece].size();
      while (unit + 1 < units.size() && units[unit].end < end) ++unit;
      uint32_t first = unit;
      while (first > 0 && units[first - 1].end > begin) --first;
      for (const uint32_t target : owners_[piece]) {
        if (scratch.tried[target] == first || hits.has(targets_[target].keyword)) continue;
        scratch.tried[target] = first;
        try_around(target, first, normalized, units, scratch, hits);
      }
    });
  }

 private:
  struct Target {
    uint32_t keyword;
    std::u32string text;
    size_t units;
    double threshold = 0;              // least likeness
    std::optional<size_t> edits = {};  // greatest distance, if the signal states one
  };
  struct Scratch {
    std::vector<uint32_t> tried;  // (targets) the unit around which a target was last compared
    std::vector<size_t> row;
  };

  // Returns the greatest distance that can match.
  static size_t set_limit(double configured, Target& target) {
    if (configured > 0 && configured <= kEditsMax) {
      target.edits = static_cast<size_t>(configured);
      return *target.edits;
    }
    target.threshold = configured > 0 ? configured / 100 : kDefaultLikeness;
    // d <= (1 - t) * (length + d), because the other text is at most d longer.
    const auto length = static_cast<double>(target.text.size());
    return static_cast<size_t>(length * (1 - target.threshold) / target.threshold + 1e-9);
  }

  // Compares the target with every stretch that contains the unit `at` and has at most one unit
  // more or fewer than the target.
  void try_around(uint32_t number, uint32_t at, std::string_view normalized,
                  const std::vector<text::TextUnit>& units, Scratch& scratch,
                  KeywordHits& hits) const {
    const Target& target = targets_[number];
    const size_t least = std::max<size_t>(target.units, 2) - 1;
    for (size_t count = least; count <= target.units + 1; ++count) {
      const size_t lowest = at + 1 >= count ? at + 1 - count : 0;
      for (size_t first = lowest; first <= at && first + count <= units.size(); ++first) {
        const uint32_t begin = units[first].begin;
        const uint32_t end = units[first + count - 1].end;
        if (end - begin > 8 * target.text.size()) continue;  // mostly punctuation
        const std::u32string other = code_points(normalized.substr(begin, end - begin));
        const auto longer = static_cast<double>(std::max(target.text.size(), other.size()));
        const size_t edits = distance(target.text, other, scratch.row);
        const double likeness = 1 - static_cast<double>(edits) / longer;
        const bool is_near = target.edits ? edits <= *target.edits && edits < target.text.size()
                                          : likeness + 1e-9 >= target.threshold;
        if (is_near) return hits.add(target.keyword, likeness);
      }
    }
  }

  bool lower_;
  std::vector<Target> targets_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> pieces_;
  std::vector<std::vector<uint32_t>> owners_;  // (pieces): indices of targets
  KeywordAutomaton automaton_;
};

}  // namespace

std::unique_ptr<KeywordMatcher> fuzzy_matcher(bool lower) {
  return std::make_unique<Fuzzy>(lower);
}

}  // namespace signalbox::signals
