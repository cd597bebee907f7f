#pragma once
// Builds a tree from parts of another, and converts trees from and to JSON. A node keeps its line,
// and a new node takes the line of its cause, so an error in the result points to a line that the
// author can correct.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/yaml.h"

namespace signalbox::yaml {

/// Puts all nodes on line 1, because nobody looks up lines of JSON. Returns kInvalid if a key is
/// given twice; the message begins with `name`.
Result<Node> from_json(const json::Value& value, std::string_view name);

/// Plain scalars that JSON has a type for become numbers, booleans and null; all others strings.
std::string to_json(const Node& node);

}  // namespace signalbox::yaml

namespace signalbox::yaml::tree {

Node text(std::string_view text, uint32_t line);  // quoted: a string whatever it looks like
Node plain(std::string_view text, uint32_t line);
Node mapping(uint32_t line);
Node sequence(uint32_t line);

/// The node at a dotted path; null if a part of it is missing.
const Node* find_path(const Node& root, std::string_view path);

/// Sets a key that is missing. Returns false, and changes nothing, if it is there.
bool add(Node& mapping, std::string_view key, Node value);
/// Copies the value of a key of `from`, if it has one, to the key `as`.
void copy(const Node& from, std::string_view key, Node& to, std::string_view as);
void copy(const Node& from, std::string_view key, Node& to);

/// Returns the mapping at a dotted path. Creates the mappings on the way that are missing.
Node& at_path(Node& root, std::string_view path, uint32_t line);
/// Puts a value at a dotted path. Joins two mappings. Returns false if any other value is already
/// there; that value stays.
bool put(Node& root, std::string_view path, Node value);

/// The scalar of a key, or "".
std::string_view scalar(const Node& mapping, std::string_view key);
/// Returns true if the scalar of a key is "true", "True", "TRUE", "yes" or "on".
bool is_true(const Node& mapping, std::string_view key);

}  // namespace signalbox::yaml::tree
