#pragma once
// The figures, dates, words and addresses of a context and a question, indexed for look-up.

#include <bitset>
#include <vector>

#include "router/safety/grounding/addresses.h"
#include "router/safety/grounding/known_words.h"
#include "router/safety/grounding/values.h"
#include "router/text/facts.h"

namespace signalbox::grounding {

/// Figures of one kind can be compared: quantities of one dimension, dates, times of day.
using FigureKind = size_t;
using FigureKinds = std::bitset<text::kDimensions + 2>;
FigureKind kind_of(const text::Quantity& quantity);
FigureKind kind_of(const text::Date& date);

/// Add texts, then call seal(). After that it is immutable and thread-safe. Filling is linear in
/// the text; a look-up takes a few binary searches.
class Evidence {
 public:
  /// The text must outlive the evidence.
  void add(const text::ReadText& text);
  void seal();

  /// True if the texts contain the figure of an answer, in any of its usual forms.
  bool has(const text::ReadText& answer, const text::Quantity& quantity) const;
  /// True if the texts contain the number, whatever its unit.
  bool has_number(const text::Quantity& quantity) const;
  /// True if the texts contain the date, or one from which all its parts follow.
  bool has(const text::Date& date) const;
  const KnownWords& words() const { return words_; }
  /// The kinds of figures in a sentence, counted from the first sentence of the first text.
  const FigureKinds& kinds(size_t sentence) const { return kinds_[sentence]; }
  const Addresses& addresses() const { return addresses_; }

 private:
  void add_quantity(const text::ReadText& text, const text::Quantity& quantity);
  void add_date(const text::ReadText& text, const text::Date& date);
  void add_headings(const text::ReadText& text, const std::vector<bool>& in_quantity);
  void convert_cells();
  bool has_rank(const text::ReadText& answer, const text::Quantity& quantity) const;

  std::vector<FigureKinds> kinds_;  // (sentences)
  Values values_;                   // as written
  Values cells_;                    // plain numbers that count nothing, as in the cells of a table
  Values converted_;                // cells_ in each of heading_units_ and heading_scales_
  Values ordinals_;                 // "third", and the days of dates
  std::vector<text::Unit> heading_units_;  // of headings such as "distance (km)"
  std::vector<double> heading_scales_;     // of headings such as "in millions"
  std::bitset<32> days_;                   // of "the 12th"
  std::vector<text::Date> dates_;
  std::vector<int32_t> years_;  // ascending once sealed
  KnownWords words_;
  Addresses addresses_;
  bool has_none_ = false;  // a word such as "no" or "none", which an answer may call zero
};

}  // namespace signalbox::grounding
