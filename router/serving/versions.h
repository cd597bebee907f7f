#pragma once
// What a configuration file was before each change that was asked of the daemon.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::serving {

/// Files in `.signalbox/config-versions` beside the configuration, for its owner's eyes only. Not
/// thread-safe.
class Versions {
 public:
  explicit Versions(const std::filesystem::path& file);

  struct Version {
    std::string name;  // "20260131-120000", in UTC; "-2" follows for the second within one second
    std::filesystem::path file;
  };

  /// Keeps a text, and of all of them the newest ten. Returns its name. Errors: kIo.
  Result<std::string> keep(std::string_view text) const;
  /// The newest first.
  std::vector<Version> list() const;
  /// Errors: kNotFound for a name that is none of list(), kIo.
  Result<std::string> read(std::string_view name) const;

 private:
  std::filesystem::path folder_;
  std::string prefix_;
};

}  // namespace signalbox::serving
