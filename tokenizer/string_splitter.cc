// The search is the standard library's.

#include "tokenizer/string_splitter.h"

#include <utility>

namespace signalbox::tokenizer {
namespace {

// Whether a word may go on behind a lone space that is the delimiter while what stands in front
// belongs to it: only where the space is joined to what precedes it.
bool joins_to_the_left(Behavior behavior, bool invert) {
  return behavior == (invert ? Behavior::kMergedWithNext : Behavior::kMergedWithPrevious);
}

}  // namespace

StringSplitter::StringSplitter(std::string delimiter, Behavior behavior, bool invert)
    : delimiter_(std::move(delimiter)),
      behavior_(behavior),
      invert_(invert),
      cuts_at_spaces_(delimiter_ == " " && !joins_to_the_left(behavior, invert)),
      // A delimiter without a space, or of several and nothing else, never holds a lone one.
      is_local_(cuts_at_spaces_ || delimiter_.find(' ') == std::string::npos ||
                (delimiter_.size() > 1 && delimiter_.find_first_not_of(' ') == std::string::npos)) {
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
