#pragma once
// YAML as a tree in which every node records its line, so that errors can report it. yaml-cpp does
// the parsing. Anchors and aliases are resolved; size, depth and expansion are limited.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::yaml {

enum class Kind : uint8_t { kNull, kScalar, kSequence, kMapping };

struct Entry;

/// One node: a plain value that can be copied, moved and read freely.
struct Node {
  Kind kind = Kind::kNull;
  bool quoted = false;         // a scalar in quotes or tagged "!": always a string
  uint32_t line = 0;           // starts at 1
  uint32_t column = 0;         // starts at 1
  std::string scalar;          // for kScalar
  std::vector<Node> items;     // for kSequence
  std::vector<Entry> entries;  // for kMapping, in file order; keys are unique

  /// Returns the value of a key, or nullptr.
  const Node* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  uint32_t line = 0;
  uint32_t column = 0;
  Node value;
};

struct Limits {
  size_t bytes = size_t{16} << 20;
  uint32_t depth = 64;
  size_t nodes = 1'000'000;  // after expanding aliases
  bool aliases = true;       // false: aliases are an error
};

/// Parses one document. Errors start with `name`: "config.yaml:14: ...". Errors: kInvalid,
/// kTooLarge.
Result<Node> parse(std::string_view text, std::string_view name, const Limits& limits = {});

/// Parses a file; additional errors: kNotFound and kIo.
Result<Node> load(const std::filesystem::path& path, const Limits& limits = {});

}  // namespace signalbox::yaml
