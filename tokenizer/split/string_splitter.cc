// Uses the search of the standard library.

#include "tokenizer/split/string_splitter.h"

namespace signalbox::tokenizer {
// A lone space that is the delimiter does not begin a word if it is joined to the preceding text.
bool StringSplitter::cuts_at_spaces(SpaceForm form) const {
  const auto joins = invert_ ? Behavior::kMergedWithNext : Behavior::kMergedWithPrevious;
  return delimiter_ == text_of(form) && behavior_ != joins;
}

bool StringSplitter::is_local(SpaceForm form) const {
  return cuts_at_spaces(form) || delimiter_.find(text_of(form)) == std::string::npos;
}

void StringSplitter::split(std::string_view text, Span word, std::vector<Span>& words) const {
  DelimiterWalk walk(behavior_, invert_, word, words);
  text = text.substr(0, word.end);
  for (size_t i = text.find(delimiter_, word.begin); i != std::string_view::npos;
       i = text.find(delimiter_, i + delimiter_.size())) {
    walk.match({static_cast<uint32_t>(i), static_cast<uint32_t>(i + delimiter_.size())});
  }
  walk.finish();
}

}  // namespace signalbox::tokenizer
