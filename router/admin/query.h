#pragma once
// The query of a request target: "?limit=2&model=a%20b".

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::admin {

/// "a%20b+c" as "a b c".
std::string decoded(std::string_view text);

/// The value of the first parameter of that name, decoded; "" without one.
std::string query_value(std::string_view query, std::string_view name);

/// The same as a number; `without` one. Errors: kInvalid naming the parameter, for one that is none
/// or over `most`.
Result<size_t> query_number(std::string_view query, std::string_view name, size_t without,
                            size_t most);

}  // namespace signalbox::admin
