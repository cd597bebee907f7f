#pragma once
// The text of a choice, for checks of whole replies and of streams.

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::replies {

struct ReplyContent {
  std::optional<json::Value> value =
      {};                 // a string or an array of parts; nullopt: neither is present
  std::string text = {};  // of the string, or of all parts in order
  bool unread = false;    // the choice has other content too
};

/// `member` is "message" or "delta", the member that holds a chat's content. Plain completions have
/// a `text`. Thoughts are left out, both among the parts and next to the content.
ReplyContent content_of(const json::Value& choice, std::string_view member);

}  // namespace signalbox::replies
