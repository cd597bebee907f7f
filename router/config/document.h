#pragma once
// The configuration file as a document that clients read and change: its keys as they stand, its
// secrets masked (router/config/secrets). A document that comes back with a mask keeps the value
// that the current one has at the same place, as long as it goes to the same address.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::config {

enum class Syntax { kYaml, kJson };

/// What a text looks like: JSON begins with a brace.
Syntax syntax_of(std::string_view text);

/// What a text says of global.services.management_api, as YAML; "" for nothing. Errors: kInvalid,
/// kTooLarge.
Result<std::string> management_of(std::string_view text, std::string_view name);

/// `text` in another syntax, with its secrets masked or as they are. `name` stands for the file in
/// messages. Errors: kInvalid, kTooLarge.
Result<std::string> show(std::string_view text, std::string_view name, Syntax syntax,
                         bool with_secrets);

/// The text itself, comments included, where no secret stands in it; none where one does, or where
/// a comment names a key as secrets have and a value. Another comment may still tell one: for
/// whoever has the machine, not for a role without secrets. Errors like show().
Result<std::optional<std::string>> as_written(std::string_view text, std::string_view name);

/// What to write for a whole document that a client sends: YAML as it came, comments included,
/// unless masked values have to be filled in. Errors: those of reading it, and kInvalid for a
/// masked value that `current` has nothing for, or has for another address.
Result<std::string> replaced(std::string_view current, std::string_view sent,
                             std::string_view name);

/// `current` with a merge patch of RFC 7396 applied, which may be written in YAML: null removes a
/// key, mappings are merged, whatever else replaces. Comments are lost. Without aliases. Errors
/// like replaced().
Result<std::string> patched(std::string_view current, std::string_view patch,
                            std::string_view name);

}  // namespace signalbox::config
