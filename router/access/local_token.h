#pragma once
// The token of this machine: a secret in a file that only the router's user can read. On a loopback
// listener without tokens of its own, it separates the operator from the other users and programs
// of the machine.

#include <filesystem>
#include <string>

namespace signalbox::access {

struct LocalToken {
  bool required = false;
  std::filesystem::path file;
  std::string secret;  // "" if none is required; else `trouble` is the reason, and nobody has it
  std::string trouble;
};

/// Returns the place of the token: `.signalbox/NAME.token` beside the configuration file NAME, or
/// NAME.token in the folder that a service manager gives to its service ($STATE_DIRECTORY).
std::filesystem::path local_token_file(const std::filesystem::path& configuration);

/// Reads the token, and makes it if there is no file. Processes that do this at the same time get
/// the same token. A file that others can read or that belongs to another user is refused, and so
/// is "" as the configuration.
LocalToken open_local_token(const std::filesystem::path& configuration);

}  // namespace signalbox::access
