#pragma once
// The weights that are included in every build: the files in weights/adapters.

#include <optional>
#include <string_view>

namespace signalbox::weights {

/// Returns the contents of a file by its path within weights/adapters:
/// "signals/adapter_config.json".
std::optional<std::string_view> shipped_file(std::string_view path);

}  // namespace signalbox::weights
