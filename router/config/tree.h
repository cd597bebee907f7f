#pragma once
// Building a file out of parts of another. A node keeps the line it came from, and what is made
// anew takes the line of its cause: an error in the result is shown where the person can mend it.

#include <string>
#include <string_view>

#include "base/yaml.h"

namespace signalbox::config::tree {

yaml::Node text(std::string_view text, uint32_t line);  // quoted: a string whatever it looks like
yaml::Node plain(std::string_view text, uint32_t line);
yaml::Node mapping(uint32_t line);
yaml::Node sequence(uint32_t line);

/// Sets a key that is not there; false leaves one that is.
bool add(yaml::Node& mapping, std::string_view key, yaml::Node value);
/// Copies `from`'s value of a key, if it has one, under `as`.
void copy(const yaml::Node& from, std::string_view key, yaml::Node& to, std::string_view as);
void copy(const yaml::Node& from, std::string_view key, yaml::Node& to);

/// The mapping at a dotted path, made where it is missing.
yaml::Node& at_path(yaml::Node& root, std::string_view path, uint32_t line);
/// Puts a value at a dotted path; false leaves what is there. Two mappings are joined.
bool put(yaml::Node& root, std::string_view path, yaml::Node value);

/// The scalar of a key, or "".
std::string_view scalar(const yaml::Node& mapping, std::string_view key);
/// Whether a key holds an unquoted true.
bool is_true(const yaml::Node& mapping, std::string_view key);

}  // namespace signalbox::config::tree
