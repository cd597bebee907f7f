#pragma once
// The identity of a client, from the headers of `global.services.authz.identity`.

#include <string>
#include <string_view>

namespace signalbox::config {

struct Config;

/// The field without spaces and tabs around it.
std::string_view identity_of(std::string_view field);

/// True if a field of groups, with commas between them, contains this one.
bool is_member(std::string_view groups, std::string_view group);

/// True if a request with these two fields must be refused: it has no identity, a routing has
/// role_bindings, and `fail_open` is false.
bool refuses_stranger(const Config& config, std::string_view user, std::string_view groups);

/// The reason of such a refusal, for the client.
std::string stranger_message(const Config& config);

}  // namespace signalbox::config
