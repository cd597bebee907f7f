#pragma once
// The words of a context and a question, for names that an answer has: the same word, a form of it,
// what else it is called, and initials in both directions.

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "router/safety/grounding/facts.h"

namespace signalbox::grounding {

/// The initials of a name, with and without those of its small words, if they may be an acronym:
/// "World Health Organization" is "who".
void add_initials(const ReadText& text, const Name& name, std::unordered_set<std::string>& into);

/// One that anybody uses for what a text has in other words: "GDP" for the economy, "PDF".
bool is_everyday_acronym(std::string_view word);

/// Filled, sealed, then immutable and free for any number of threads. Filling is linear in the
/// text; asking costs some searches.
class KnownWords {
 public:
  /// The words of a text, which are looked into as long as this lives, and what their initials
  /// spell ("magnetic resonance imaging"); the initials of one of its names.
  void add(const ReadText& text);
  void add(const ReadText& text, const Name& name);
  void seal();

  /// Of one word of a name. Case and marks of letters do not matter: "Zurich", "Mueller".
  bool hold(const Token& word) const;
  /// Of a name whose initials the texts have, in capitals.
  bool hold_initials(const ReadText& text, const Name& name) const;

 private:
  void add_initials_of_runs(const ReadText& text);
  bool is_shortened(std::string_view lower) const;
  bool hold_bare(std::string_view lower) const;

  std::vector<std::string_view> words_;      // ascending once sealed
  std::vector<std::string_view> acronyms_;   // those of them in capitals, ascending once sealed
  std::vector<std::string_view> shortened_;  // in brackets: "(Rep)"
  std::unordered_set<std::string> bare_;     // of words with other letters than a to z
  std::unordered_set<std::string> initials_;
};

}  // namespace signalbox::grounding
