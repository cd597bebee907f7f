#pragma once
// What a context and a question offer to those who check an answer: values with their units, what
// is counted there, dates, words, and what follows from them.

#include <bitset>
#include <span>
#include <vector>

#include "router/safety/grounding/addresses.h"
#include "router/safety/grounding/asked.h"
#include "router/safety/grounding/combined.h"
#include "router/safety/grounding/derived.h"
#include "router/safety/grounding/facts.h"
#include "router/safety/grounding/items.h"
#include "router/safety/grounding/qualifiers.h"
#include "router/safety/grounding/values.h"
#include "router/safety/grounding/words.h"

namespace signalbox::grounding {

/// Filled, sealed, then immutable and free for any number of threads. Filling is linear in the
/// text; asking costs some searches.
class Evidence {
 public:
  /// The text is looked into as long as the evidence lives.
  void add(const ReadText& text);
  /// The same of a question, whose quantities answers reckon with.
  void add_question(const ReadText& text);
  void seal();

  bool supports(const Asked& asked, const Quantity& quantity) const;
  /// Whether the number occurs at all, whatever it counts or measures.
  bool has_value(const Quantity& quantity) const;
  bool supports(const Date& date) const;
  /// Whether the quantity is the time from one of the times of day to one that the texts have, or
  /// back.
  bool spans_times(std::span<const Date> dates, const Quantity& quantity) const;
  /// Whether the texts have so many times less: of what is doubled.
  bool has_scaled(const Quantity& quantity, double scale) const;
  /// Whether the quantity is so many times one that the texts have: a price, a dose.
  bool has_share_of(const Quantity& quantity, double times) const;
  /// Of the question.
  const std::vector<Quantity>& asked() const { return asked_; }
  const std::vector<Date>& asked_dates() const { return asked_dates_; }
  const Unit& asked_unit() const { return asked_unit_; }  // "how many hours"; plain without
  bool asks_to_reckon() const { return asks_to_reckon_; }
  const Combined& combined() const { return combined_; }
  const KnownWords& words() const { return words_; }
  const Qualifiers& qualifiers() const { return qualifiers_; }
  const Addresses& addresses() const { return addresses_; }

 private:
  void add_sentence(const ReadText& text, const Facts& facts);
  void add_words(const ReadText& text, const std::vector<bool>& taken);
  void add_bare(const Quantity& quantity);
  void add_measured();
  bool ranks(const Asked& asked, const Quantity& quantity) const;
  bool derives(const Asked& asked, const Quantity& quantity) const;
  bool counts(const Asked& asked, const Quantity& quantity) const;
  bool ages(const Asked& asked, const Quantity& quantity) const;
  bool is_score(const ReadText& text, const Quantity& quantity) const;
  bool is_as_asked(const Reading& reading, const Quantity& quantity) const;
  bool follows_in_rows(const Reading& reading, const Quantity& quantity) const;
  bool spans_years(const Asked& asked, const Quantity& quantity) const;

  Values values_;                // as the texts have them
  Values bare_;                  // plain numbers that count nothing, as in tables
  Values measured_;              // those, in each unit that is named away from any number
  Values ordinals_;              // "third", the days of dates
  Derived derived_;              // what follows from them
  Combined combined_;            // what any two of them give
  std::vector<Quantity> asked_;  // in the question
  std::vector<Date> asked_dates_;
  std::vector<Reading> spans_;    // of time
  std::vector<int32_t> clocked_;  // spans with seconds, "2:29:20"
  Unit asked_unit_ = {};
  bool asks_to_reckon_ = false;
  double scale_ = 1;           // that it asks for: 0.5 of "half of it"
  std::bitset<32> days_;       // "the 12th"
  std::bitset<1440> minutes_;  // of the day, that are times
  std::vector<Date> dates_;
  std::vector<int32_t> years_;  // ascending once sealed
  Enumerations items_;
  std::vector<Unit> named_;     // away from any number: "distance (km)"
  std::vector<double> scales_;  // likewise: "in millions"
  KnownWords words_;
  Qualifiers qualifiers_;
  Addresses addresses_;
  bool denies_ = false;  // "no", "none", "without": zero
};

}  // namespace signalbox::grounding
