#pragma once
// What simply follows from the numbers and dates of a context: sums, differences, growth, spans of
// time, years that are so many before or after another.

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "router/safety/grounding/facts.h"
#include "router/safety/grounding/values.h"

namespace signalbox::grounding {

/// Filled, sealed, then immutable and free for any number of threads. Filling is linear in the
/// text.
class Derived {
 public:
  /// The sentences of a text in their order, with what they have.
  void add(const ReadText& text, const Sentence& sentence, Facts facts);
  void end_text();
  void seal();

  /// From quantities of the same things; from any two that stand together, where an answer says
  /// that it reckons.
  const Values& follows() const { return follows_; }
  const Values& may_follow() const { return may_follow_; }
  const std::vector<int32_t>& years() const { return years_; }
  /// Minutes of the day at which something ends that begins then and takes so long.
  const std::bitset<1440>& ends() const { return ends_; }

 private:
  void add_times(const Facts& facts);
  void add_ends(const Facts& facts);
  void add_row(const ReadText& text, const Sentence& sentence, const Facts& facts);
  void end_table();
  void add_days(const Date& a, const Date& b);
  void add_years(const Facts& facts);
  void combine(const ReadText& text, const Sentence& sentence, const Facts& facts);
  void add_pair(const ReadText& text, const Quantity& a, const Quantity& b);
  void add_growth(std::span<const Quantity> from, bool row);
  void add_year(const ReadText& text, const Quantity& span, const Facts& facts);

  struct Column {
    double value = 0;
    Unit unit = {};
    size_t rows = 0;
  };

  Values follows_, may_follow_;
  std::bitset<1440> ends_;
  std::array<Column, 16> columns_ = {};  // of the table that is being read
  std::vector<int32_t> years_;
  Facts last_;                             // of the sentence before
  std::deque<std::vector<int32_t>> near_;  // years of the last sentences
};

}  // namespace signalbox::grounding
