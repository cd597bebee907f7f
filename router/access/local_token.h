#pragma once
// The local token: a secret in a file that only the router's user can read. On a loopback listener
// without other tokens, it separates the operator from the other users of the machine.

#include <filesystem>
#include <string>

namespace signalbox::access {

struct LocalToken {
  bool required = false;
  std::filesystem::path file;
  std::string secret;   // "": no token is required, or `trouble` is set and nobody can make changes
  std::string trouble;  // why the required token could not be read or made; "": nothing is wrong
};

/// Returns the absolute path of the token: `.signalbox/NAME.token` beside the configuration file
/// NAME, or NAME.token in the folder that a service manager gives to its service
/// ($STATE_DIRECTORY).
std::filesystem::path local_token_file(const std::filesystem::path& configuration);

/// Reads the token, and makes it if there is no file. Processes that do this at the same time get
/// the same token. Refuses a file that others can read or that belongs to another user, and "" as
/// the configuration.
LocalToken open_local_token(const std::filesystem::path& configuration);

}  // namespace signalbox::access
