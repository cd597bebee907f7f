#pragma once
// config.json of a Hugging Face model directory: typed access that names the key, the value and
// what was expected. What the values mean is the engine's business.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::weights {

class HfConfig {
 public:
  /// Errors: kNotFound, kIo, kCorrupt. At most 1 MB is read.
  static Result<HfConfig> open(const std::filesystem::path& path);
  static Result<HfConfig> parse(std::string text, std::string_view name);

  /// A required integer within [least, most].
  Result<int32_t> integer(std::string_view key, int32_t least, int32_t most) const;
  /// A required number within [least, most].
  Result<double> number(std::string_view key, double least, double most) const;
  /// A string, or `fallback` when the key is absent or null.
  Result<std::string> string(std::string_view key, std::string_view fallback) const;

  bool has(std::string_view key) const;
  json::Value root() const { return document_.root(); }
  const std::string& name() const { return name_; }

 private:
  HfConfig(json::Document document, std::string_view name)
      : document_(std::move(document)), name_(name) {}

  json::Document document_;
  std::string name_;
};

}  // namespace signalbox::weights
