#pragma once
// YAML as a tree in which every node knows its line, so that an error can say where. Parsing is
// yaml-cpp's; anchors and aliases are resolved, and size, depth and expansion are limited.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::yaml {

enum class Kind : uint8_t { kNull, kScalar, kSequence, kMapping };

struct Entry;

/// One node. A plain value: copy, move and read as one likes.
struct Node {
  Kind kind = Kind::kNull;
  bool quoted = false;      // a scalar in quotes or with a tag "!": a string whatever it looks like
  uint32_t line = 0;        // from 1
  uint32_t column = 0;      // from 1
  std::string scalar;       // kScalar
  std::vector<Node> items;  // kSequence
  std::vector<Entry> entries;  // kMapping, in file order; keys are unique

  /// The value of a key, or nullptr.
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
  size_t nodes = 1'000'000;  // after aliases are expanded
  bool aliases = true;       // false: none is taken
};

/// Reads one document. `name` goes in front of errors: "config.yaml:14: ...". Errors: kInvalid,
/// kTooLarge.
Result<Node> parse(std::string_view text, std::string_view name, const Limits& limits = {});

/// parse() over a file; also kNotFound and kIo.
Result<Node> load(const std::filesystem::path& path, const Limits& limits = {});

}  // namespace signalbox::yaml
