#pragma once
// A file of tools that the router can offer to a model in addition to the client's tools:
//
//   [{"tool": {"type": "function", "function": {"name", "description"?, "parameters"?, ...}},
//     "description"?, "category"?, "tags": [...]?}]
//
// `tool` is copied into requests byte for byte; the other members are used to select it.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::plugins {

inline constexpr size_t kToolsMax = 4096;
inline constexpr size_t kFileBytesMax = size_t{16} << 20;

struct Tool {
  std::string name;  // name of the function
  std::string description;
  std::string category;
  std::vector<std::string> tags;
  std::string definition;  // JSON, as in the `tools` of a request
};

/// Returns the tools in the order of the file. Ignores members that are not listed above. Errors
/// name the entry: kInvalid (a missing, empty or repeated name; a member of another type),
/// kTooLarge.
Result<std::vector<Tool>> parse_database(std::string text);

/// Reads the tools from a file; errors name it. Also kNotFound and kIo.
Result<std::vector<Tool>> read_database(const std::string& path);

/// Returns the text that is embedded for a tool: its name as words, and its description.
std::string words_of_tool(std::string_view name, std::string_view description);

}  // namespace signalbox::plugins
