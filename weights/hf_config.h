#pragma once
// Typed access to config.json of a Hugging Face model directory and similar files. Errors contain
// the file, the key, the value and the expectation. The engine interprets the values.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::weights {

/// A JSON object with its path for errors. It is a view: valid while its HfConfig exists and is not
/// moved. A null value counts as a missing key. Errors are kCorrupt: "config.json:
/// rope_scaling.factor: missing".
class HfObject {
 public:
  /// Returns an integer within [least, most]. The key is required, or `fallback` replaces it.
  Result<int32_t> integer(std::string_view key, int32_t least, int32_t most) const;
  Result<int32_t> integer(std::string_view key, int32_t least, int32_t most,
                          int32_t fallback) const;
  /// Returns a number within [least, most]. The key is required, or `fallback` replaces it.
  Result<double> number(std::string_view key, double least, double most) const;
  Result<double> number(std::string_view key, double least, double most, double fallback) const;
  /// Returns a string or a boolean, or `fallback` if the key is missing.
  Result<std::string> string(std::string_view key, std::string_view fallback) const;
  Result<bool> boolean(std::string_view key, bool fallback) const;
  /// Returns an array of strings; empty if the key is missing.
  Result<std::vector<std::string>> strings(std::string_view key) const;
  /// Returns an object, or nullopt if the key is missing.
  Result<std::optional<HfObject>> object(std::string_view key) const;

  bool has(std::string_view key) const { return find(key).has_value(); }
  json::Value value() const { return value_; }
  /// Returns "config.json: rope_scaling.factor", for errors about a key's value.
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
  std::string path_;  // empty for the root, otherwise ends with a dot
};

class HfConfig {
 public:
  /// Reads at most 1 MB. Errors: kNotFound, kIo, kCorrupt.
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
