#pragma once
// Decides which requests share an answer, by two digests of everything that a model sees or that
// affects its answer. The first omits the last question, so that questions with the same context
// can be compared by meaning. The second includes it.
//
// Whole texts go into SHA-256, each with its length before it. So no two different requests share a
// digest, however long their common parts are.

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace signalbox::cache {

struct Key {
  std::string partition;  // 64 hexadecimal digits: everything but the question
  std::string id;         // the same with the question
  std::string question;   // text of the last message if it is the user's; "": nothing to compare
};

/// Named values outside of the request that separate its answers from others.
using Apart = std::span<const std::pair<std::string_view, std::string_view>>;

/// The key of a request as sent to a server. The order of its members and white space are ignored,
/// and so are members that only affect delivery or accounting (stream, stream_options, user,
/// metadata, store and the like). The requester's identity belongs in `apart`.
Key key_of(const json::Value& request, Apart apart);

}  // namespace signalbox::cache
