#pragma once
// What of a configuration is secret, how it is hidden, and with whom it stays when a client sends
// back what it was shown.
//
// Secret are values of keys that are called so (password, api_key, auth_token, ...), of headers
// that are sent to servers, and addresses with a login in them. References to the environment,
// ${NAME} without a default, are not.

#include <string_view>

#include "base/yaml.h"

namespace signalbox::config {

/// What stands for a secret.
inline constexpr std::string_view kMasked = "********";

/// Puts kMasked in the place of every secret. Whether there was one.
bool mask_secrets(yaml::Node& root);

/// Whether a comment of the file tells one: "# api_key: abc", "#password=abc", a URL with a login.
/// What only looks like a comment, in a text, counts as one.
bool comments_tell_secrets(std::string_view text);

/// Puts what `current` has in the place of every kMasked in `root`. Whether there was one. kInvalid
/// names the place of one that `current` has nothing for, or has for another address.
Result<bool> keep_secrets(yaml::Node& root, const yaml::Node& current);

}  // namespace signalbox::config
