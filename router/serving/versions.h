#pragma once
// The previous texts of a configuration file, one for each change through the API.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::serving {

/// Files in `.signalbox/config-versions` next to the configuration, readable by their owner only.
/// Not thread-safe.
class Versions {
 public:
  explicit Versions(const std::filesystem::path& file);

  struct Version {
    // "20260131-120000" in UTC; "-2" is appended for the second one within a second
    std::string name;
    std::filesystem::path file;
  };

  /// Stores a text, deletes all but the newest ten, and returns its name. Errors: kIo.
  Result<std::string> keep(std::string_view text) const;
  /// Returns all versions, the newest first.
  std::vector<Version> list() const;
  /// Errors: kNotFound for a name that is not in list(), kIo.
  Result<std::string> read(std::string_view name) const;

 private:
  std::filesystem::path folder_;
  std::string prefix_;
};

}  // namespace signalbox::serving
