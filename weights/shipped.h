#pragma once
// The weights that come with the project, as every build carries them: the files below
// weights/adapters.

#include <optional>
#include <string_view>

namespace signalbox::weights {

/// The bytes of a file by its path below weights/adapters: "signals/adapter_config.json".
std::optional<std::string_view> shipped_file(std::string_view path);

}  // namespace signalbox::weights
