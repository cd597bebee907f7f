#pragma once
// Reads a configuration file: v0.3, or an older form, which is migrated in memory. A wrong file is
// refused with file, line, key path, the value and what was expected. A key without an effect gives
// a notice with the consequence, so nothing is ignored silently.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"

namespace signalbox::config {

/// A longer file is refused. Unit: bytes.
inline constexpr size_t kFileBytesMax = size_t{16} << 20;

/// The answer of a judge of preferences if none of them applies; no preference may have its name.
inline constexpr std::string_view kNoPreference = "none";

struct Loaded {
  Config config;
  /// One line each: "config.yaml:34: global.stores.vector_store: has no effect: no documents are
  /// stored (docs/upstream.md)".
  std::vector<std::string> notices;
};

struct LoadOptions {
  bool strict = false;         // an unknown key is an error, not a notice
  bool keys_required = false;  // so is an unset variable that a key such as api_key_env names
};

/// Every error found, one a line, in the order of the file; the code is kInvalid, kNotFound, kIo or
/// kTooLarge. Values may hold ${VARIABLE} and ${VARIABLE:-default}; $${ is a literal ${.
Result<Loaded> load(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same from memory. `name` stands for the file in messages.
Result<Loaded> parse(std::string_view text, std::string_view name, const LoadOptions& options = {});

/// Like load(), but with the notices of a wrong file, too.
struct Inspection {
  Result<Config> config;
  std::vector<std::string> notices;
};
Inspection inspect(const std::filesystem::path& path, const LoadOptions& options = {});
Inspection inspect(std::string_view text, std::string_view name, const LoadOptions& options = {});

/// A file in v0.3 as text, which loads without an error and without an unknown key.
struct Migrated {
  std::string text;
  std::vector<std::string> notices;  // parts that are left out, one line each
};
/// A v0.3 file is returned unchanged. Errors: those of load().
Result<Migrated> migrate_file(const std::filesystem::path& path);

/// The JSON Schema of v0.3, from the tables that load() uses.
std::string schema();
/// The same as a Markdown page: every key with its type and its purpose.
std::string reference();

}  // namespace signalbox::config
