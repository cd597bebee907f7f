#pragma once
// The configuration file as a document that clients read and change, with its secrets masked. A
// masked value in a document that a client sends back keeps the current value at the same place, as
// long as its address is the same.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"

namespace signalbox::config {

enum class Syntax { kYaml, kJson };

/// The syntax of a text: JSON begins with a brace.
Syntax syntax_of(std::string_view text);

/// The section global.services.management_api of a text, as YAML; "" if there is none. Errors:
/// kInvalid, kTooLarge.
Result<std::string> management_of(std::string_view text, std::string_view name);

/// `text` in another syntax, with its secrets or with masks. `name` stands for the file in
/// messages. Errors: kInvalid, kTooLarge.
Result<std::string> show(std::string_view text, std::string_view name, Syntax syntax,
                         bool with_secrets);

/// The text itself with its comments. nullopt if it contains a secret, or a comment with the key of
/// a secret and a value. Other comments may still reveal a secret, so show the text only to people
/// with access to the machine. Errors like show().
Result<std::optional<std::string>> as_written(std::string_view text, std::string_view name);

/// The file to write for a whole document that a client sends: YAML unchanged, with its comments,
/// unless masked values must be replaced. Errors: those of reading it, and kInvalid for a masked
/// value without a current value for the same address.
Result<std::string> replaced(std::string_view current, std::string_view sent,
                             std::string_view name);

/// `current` with a merge patch of RFC 7396, which may be YAML without aliases: null removes a key,
/// mappings are merged, other values replace. Comments are lost. Errors like replaced().
Result<std::string> patched(std::string_view current, std::string_view patch,
                            std::string_view name);

// --- secrets ---
//
// Secrets are values of keys with names like password, api_key or auth_token, values of headers to
// servers, and URLs with a login. References to the environment, ${NAME} without a default, are
// not.

/// The mask in place of a secret.
inline constexpr std::string_view kMasked = "********";

/// Replaces every secret by kMasked. True if there was one.
bool mask_secrets(yaml::Node& root);

/// True if a comment of the file reveals a secret: "# api_key: abc", "#password=abc", a URL with a
/// login. Text that only resembles a comment counts as one.
bool has_secrets_in_comments(std::string_view text);

/// The variables of the environment that `changed` uses where `current` does not: for another key,
/// or beside another address. Errors: kInvalid, kTooLarge.
Result<std::vector<std::string>> new_variables(std::string_view current, std::string_view changed,
                                               std::string_view name);

/// Replaces every kMasked in `root` by the value in `current`. True if there was one. kInvalid
/// names a place without a current value for the same address.
Result<bool> keep_secrets(yaml::Node& root, const yaml::Node& current);

}  // namespace signalbox::config
