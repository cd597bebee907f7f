#pragma once
// The words of a context and a question. A word of an answer's name matches the same word, an
// inflected form, a common synonym, or initials in either direction.

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "router/text/facts.h"

namespace signalbox::grounding {

/// Adds the initials of a name, with and without those of its small words: "World Health
/// Organization" adds "who".
void add_initials(const text::ReadText& text, const text::Name& name,
                  std::unordered_set<std::string>& into);

/// Acronyms that need no support by a context, such as "PDF" and "GDP".
bool is_everyday_acronym(std::string_view word);

/// Add texts and names, then call seal(). After that it is immutable and thread-safe. Filling is
/// linear in the text; a look-up takes a few searches.
class KnownWords {
 public:
  /// Adds the words of a text, which must outlive this object, and the initials of its word runs
  /// ("magnetic resonance imaging").
  void add(const text::ReadText& text);
  /// Adds the initials of one of the text's names.
  void add(const text::ReadText& text, const text::Name& name);
  void seal();

  /// Case and accents are ignored: "Zurich", "Mueller".
  bool contain(const text::Token& word) const;
  /// True if the texts contain the initials of the name as an acronym.
  bool contain_initials(const text::ReadText& text, const text::Name& name) const;

 private:
  void add_initials_of_runs(const text::ReadText& text);
  bool contain_unaccented(std::string_view lower) const;

  std::vector<std::string_view> words_;         // ascending once sealed
  std::vector<std::string_view> acronyms_;      // words in capitals, ascending once sealed
  std::unordered_set<std::string> unaccented_;  // of words with letters beyond ASCII
  std::unordered_set<std::string> initials_;
};

}  // namespace signalbox::grounding
