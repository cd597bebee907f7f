#pragma once
// Names of an answer that the texts do not have.

#include <string>
#include <unordered_set>
#include <vector>

#include "router/safety/grounding/facts.h"
#include "router/safety/grounding/text.h"
#include "router/safety/grounding/words.h"

namespace signalbox::grounding {

/// One answer's, sentence by sentence: initials that a name has explained are known from then on.
class NameCheck {
 public:
  /// Both outlive it.
  NameCheck(const KnownWords& words, const ReadText& answer);

  /// Of each name of the sentence that has one the words that are unknown, from the first to the
  /// last of them. None in languages that give capitals to all nouns.
  std::vector<Name> unknown(const Sentence& sentence, const Facts& facts);

 private:
  bool is_known(const Name& name, const Token& token) const;
  bool knows_initials(const Facts& facts, size_t i) const;
  bool is_label(const Sentence& sentence, const Name& name) const;

  const KnownWords& words_;
  const ReadText& text_;
  const bool capitals_tell_;
  std::unordered_set<std::string> initials_;  // of names that the answer has had
};

}  // namespace signalbox::grounding
