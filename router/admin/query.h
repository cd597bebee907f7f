#pragma once
// Reads the query of a request target: "?limit=2&model=a%20b".

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::admin {

/// Decodes "a%20b+c" to "a b c".
std::string decoded(std::string_view text);

/// Returns the decoded value of the first parameter with that name, or "".
std::string query_value(std::string_view query, std::string_view name);

/// Returns the value as a number, or `otherwise` if it is missing. Errors: kInvalid naming the
/// parameter if it is not a number or exceeds `most`.
Result<size_t> query_number(std::string_view query, std::string_view name, size_t otherwise,
                            size_t most);

}  // namespace signalbox::admin
