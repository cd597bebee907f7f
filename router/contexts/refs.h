#pragma once
// `metadata.context_refs` of a chat completion request: which contexts it begins with, and the
// request with their messages in front of its own. Both by splicing: what the client wrote besides
// and what was stored stays byte for byte, so that the prompts of all who refer to the same
// contexts begin with the same bytes.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::contexts {

/// Whether the request has the member, whatever it holds.
bool has_refs(const json::Document& request);

/// The ids in order. A list of texts, or, for clients that know metadata as texts only, one text
/// with commas or spaces between ids. Errors: kInvalid with the path for anything else, for more
/// than `refs_max`, and for a member that is given twice.
Result<std::vector<std::string>> read_refs(const json::Document& request, size_t refs_max);

/// The request with the contents in front of its messages and without the member, and without
/// `metadata` where nothing else is in it. Preconditions: read_refs() has read it, `messages` is an
/// array. Errors: kTooLarge for more than `bytes_max`, before anything is allocated.
Result<std::string> expand(const json::Document& request,
                           std::span<const std::shared_ptr<const std::string>> contents,
                           size_t bytes_max);

}  // namespace signalbox::contexts
