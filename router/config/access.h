#pragma once
// Who asks, as the headers of `global.services.authz.identity` say it.

#include <string_view>

namespace signalbox::config {

/// Without the blanks around it.
std::string_view identity_of(std::string_view field);

/// Whether a field of groups, parted by commas, names this one.
bool is_member(std::string_view groups, std::string_view group);

}  // namespace signalbox::config
