#pragma once
// What the words around a quantity limit it to: "$29 a month" is not "$29 a year", "at most 5" is
// not "at least 5". Only where the texts always say it of that value can an answer say otherwise.

#include <span>
#include <string_view>
#include <vector>

#include "router/safety/grounding/number.h"
#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// Whether a sentence says no to something: what bounds a quantity there may bound it from the
/// other side. Linear in the sentence.
bool denies(const ReadText& text, const Sentence& sentence);

/// Filled, sealed, then immutable and free for any number of threads. Filling is linear in the
/// text; asking costs a search.
class Qualifiers {
 public:
  /// All quantities of a sentence. The text is looked into as long as this lives.
  void add(const ReadText& text, const Sentence& sentence, std::span<const Quantity> quantities);
  void seal();

  /// Whether the texts have the value, and each time of another period: second to year.
  bool of_another_period(const ReadText& text, const Sentence& sentence,
                         const Quantity& quantity) const;
  /// Whether the texts have the value, and each time as a bound from the other side. Not for
  /// sentences that deny something.
  bool bounded_otherwise(const ReadText& text, const Sentence& sentence,
                         const Quantity& quantity) const;
  /// Whether the texts have the same for another period: 300 a minute are 5 a second.
  bool has_rate(const ReadText& text, const Sentence& sentence, const Quantity& quantity) const;

 private:
  struct Qualified {
    double value = 0;  // in the base unit
    Dimension dimension = Dimension::kNone;
    uint8_t currency = 0;
    std::string_view period;     // "day"; none: empty
    Hedge bound = Hedge::kNone;  // kAtLeast, kAtMost or kNone
  };
  static Qualified read(const ReadText& text, const Sentence& sentence, const Quantity& quantity);
  template <class Differs>
  bool all(const Qualified& asked, Differs differs) const;

  std::vector<Qualified> qualified_;  // ascending by value once sealed
};

}  // namespace signalbox::grounding
