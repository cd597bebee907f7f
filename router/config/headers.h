#pragma once
// What the file may have the router say in the header of a request.

#include <string_view>

namespace signalbox::config {

/// A token of RFC 9110.
bool is_header_name(std::string_view name);

/// Whether the router says it itself of a request that it passes on. Case does not count.
bool is_own_header(std::string_view name);

/// One line without control characters.
bool is_header_value(std::string_view value);

}  // namespace signalbox::config
