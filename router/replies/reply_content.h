#pragma once
// What a choice of a reply says, for those who check it whole and those who check it in a stream.

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::replies {

struct ReplyContent {
  std::optional<json::Value> value = {};  // a string, or an array of parts; none: neither is there
  std::string text = {};                  // of the string, or of all parts, one after the other
  bool unread = false;                    // it says something else, too
};

/// `member`: what holds a chat's content, "message" or "delta". Other completions have a `text`.
/// Thoughts among the parts are left out, as those beside the content are.
ReplyContent content_of(const json::Value& choice, std::string_view member);

}  // namespace signalbox::replies
