#pragma once
// Reads a v0.3 configuration file. A wrong file is refused with file, line, key path, the value and
// what was expected; what it names and is not built is returned as notices, so that nothing is
// ignored in silence.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::config {

struct Loaded {
  Config config;
  /// One line each: "config.yaml:34: routing.signals.domains: not built yet; conditions on it never
  /// match".
  std::vector<std::string> notices;
};

struct LoadOptions {
  bool strict = false;  // an unknown key is an error, not a notice
};

/// Every error found, one a line, in the order of the file; the code is kInvalid, kNotFound, kIo or
/// kTooLarge. Values may hold ${VARIABLE} and ${VARIABLE:-default}; $${ is a literal ${.
Result<Loaded> load(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same from memory. `name` stands for the file in messages.
Result<Loaded> parse(std::string_view text, std::string_view name, const LoadOptions& options = {});

}  // namespace signalbox::config
