#pragma once
// Finds the names of an answer that the context and the question do not contain.

#include <string>
#include <unordered_set>
#include <vector>

#include "router/safety/grounding/known_words.h"
#include "router/text/facts.h"

namespace signalbox::grounding {

/// Checks one answer, sentence by sentence in order: an acronym that a name of the answer explains
/// is known from then on.
class NameCheck {
 public:
  /// Both must outlive this object.
  NameCheck(const KnownWords& words, const text::ReadText& answer);

  /// For each name with unknown words, the stretch from the first to the last of them. Empty for
  /// answers in German, which capitalises all nouns.
  std::vector<text::Name> unknown(const text::Sentence& sentence, const text::Facts& facts);

 private:
  bool is_known(const text::Name& name, const text::Token& token) const;
  bool has_known_initials(const text::Facts& facts, size_t i) const;
  bool is_label(const text::Sentence& sentence, const text::Name& name) const;

  const KnownWords& words_;
  const text::ReadText& text_;
  const bool capitals_mark_names_;
  std::unordered_set<std::string> initials_;  // of the answer's names so far
};

}  // namespace signalbox::grounding
