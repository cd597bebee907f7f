#pragma once
// `metadata.context_refs` of a chat completion request: it reads the contexts that the request
// begins with, and puts their messages in front of the request's own. It splices text, so that the
// client's other bytes and the stored bytes stay unchanged, and the prompts of all requests with
// the same contexts begin with the same bytes.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::contexts {

/// True if the request has the member, whatever its value.
bool has_refs(const json::Document& request);

/// Returns the ids in order. The value is a list of strings or, for clients whose metadata can only
/// be strings, one string with commas or spaces between ids. Errors: kInvalid with the path for any
/// other value, for more than `refs_max` ids, and for a member that is given twice.
Result<std::vector<std::string>> read_refs(const json::Document& request, size_t refs_max);

/// Returns the request with the contents in front of its messages and without the member; if
/// `metadata` has nothing else, that is removed too. Preconditions: read_refs() succeeded, and
/// `messages` is an array. Errors: kTooLarge if the result has more than `bytes_max` bytes, before
/// it allocates anything.
Result<std::string> expand(const json::Document& request,
                           std::span<const std::shared_ptr<const std::string>> contents,
                           size_t bytes_max);

}  // namespace signalbox::contexts
