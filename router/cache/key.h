#pragma once
// Which requests have one answer: everything that a model would be shown or that bends its answer,
// as two digests. The first leaves out the last question, so that questions in equal circumstances
// can be compared by their meaning; the second has all of it.
//
// Whole texts go into SHA-256, each with its length before it: no two requests that differ
// anywhere share a digest, however long what they have in common.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace signalbox::cache {

struct Key {
  std::string partition;  // 64 hexadecimal digits: all but the question
  std::string id;         // the same of all
  std::string question;   // text of the last message if it is the user's; "": none to compare
};

/// What is not in the request and parts its answers from others', by name.
using Apart = std::span<const std::pair<std::string_view, std::string_view>>;

/// The key of a request as it goes to a server. The order of its members and the spaces between
/// them do not count, nor do members that say how the answer is delivered, for whom or to what end
/// (stream, stream_options, user, metadata, store and the like): who asks belongs into `apart`.
Key key_of(const json::Value& request, Apart apart);

}  // namespace signalbox::cache
