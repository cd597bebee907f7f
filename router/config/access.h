#pragma once
// Who asks, as the headers of `global.services.authz.identity` say it.

#include <string>
#include <string_view>

namespace signalbox::config {

struct Config;

/// Without the blanks around it.
std::string_view identity_of(std::string_view field);

/// Whether a field of groups, parted by commas, names this one.
bool is_member(std::string_view groups, std::string_view group);

/// Whether a request with these two fields names nobody, and has to: some routing asks for roles
/// and `fail_open` is false.
bool refuses_stranger(const Config& config, std::string_view user, std::string_view groups);

/// Why, for the client.
std::string stranger_message(const Config& config);

}  // namespace signalbox::config
