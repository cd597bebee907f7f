#pragma once
// config.json of a Hugging Face model directory and its like: typed access that names the file, the
// key, the value and what was expected. What the values mean is the engine's business.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::weights {

/// A JSON object with its place. A view: valid while the HfConfig it came from lives and is not
/// moved. A key that is null reads as
/// one that is not there. Errors are kCorrupt: "config.json: rope_scaling.factor: missing".
class HfObject {
 public:
  /// An integer within [least, most]; required, or `fallback` without the key.
  Result<int32_t> integer(std::string_view key, int32_t least, int32_t most) const;
  Result<int32_t> integer(std::string_view key, int32_t least, int32_t most,
                          int32_t fallback) const;
  /// A number within [least, most]; required, or `fallback` without the key.
  Result<double> number(std::string_view key, double least, double most) const;
  Result<double> number(std::string_view key, double least, double most, double fallback) const;
  /// A string or a boolean, or `fallback` without the key.
  Result<std::string> string(std::string_view key, std::string_view fallback) const;
  Result<bool> boolean(std::string_view key, bool fallback) const;
  /// An array of strings, empty without the key.
  Result<std::vector<std::string>> strings(std::string_view key) const;
  /// An object, or none without the key.
  Result<std::optional<HfObject>> object(std::string_view key) const;

  bool has(std::string_view key) const { return find(key).has_value(); }
  json::Value value() const { return value_; }
  /// "config.json: rope_scaling.factor", for errors about the value of a key.
  std::string where(std::string_view key) const;

 private:
  friend class HfConfig;
  HfObject(json::Value value, std::string_view file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}

  std::optional<json::Value> find(std::string_view key) const;
  tl::unexpected<Error> unexpected(std::string_view key, std::string_view expected,
                                   json::Value found) const;

  json::Value value_;
  std::string_view file_;
  std::string path_;  // "" for the root, otherwise with a trailing dot
};

class HfConfig {
 public:
  /// Errors: kNotFound, kIo, kCorrupt. At most 1 MB is read.
  static Result<HfConfig> open(const std::filesystem::path& path);
  static Result<HfConfig> parse(std::string text, std::string_view name);

  HfObject root() const { return {document_.root(), name_, ""}; }
  const std::string& name() const { return name_; }

 private:
  HfConfig(json::Document document, std::string_view name)
      : document_(std::move(document)), name_(name) {}

  json::Document document_;
  std::string name_;
};

}  // namespace signalbox::weights
