#pragma once
// Tools that a router can offer to a model besides those of the client, as a file:
//
//   [{"tool": {"type": "function", "function": {"name", "description"?, "parameters"?, ...}},
//     "description"?, "category"?, "tags": [...]?}]
//
// The tool goes into requests byte for byte; the rest says when.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::plugins {

inline constexpr size_t kToolsMax = 4096;
inline constexpr size_t kFileBytesMax = size_t{16} << 20;

struct Tool {
  std::string name;  // of the function
  std::string description;
  std::string category;
  std::vector<std::string> tags;
  std::string definition;  // JSON; what a request's `tools` hold
};

/// In the order of the file. Members that are not named above are left alone. Errors say which
/// entry: kInvalid (a name that is missing, empty or there twice; another type than above),
/// kTooLarge.
Result<std::vector<Tool>> parse_database(std::string text);

/// The same of a file; errors name it. kNotFound, kIo.
Result<std::vector<Tool>> read_database(const std::string& path);

/// What an embedder is shown of a tool: its name in words, and what it does.
std::string words_of_tool(std::string_view name, std::string_view description);

}  // namespace signalbox::plugins
