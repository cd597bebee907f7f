// Plain functions over Node, without knowledge of the keys. Numbers keep their bytes on the
// way from and to JSON.

#include "base/yaml_tree.h"

#include <algorithm>

#include "base/json_writer.h"

namespace signalbox::yaml {
namespace {

void write_json(const Node& node, json::Writer& out) {
  switch (node.kind) {
    case Kind::kNull:
      out.null();
      return;
    case Kind::kSequence:
      out.begin_array();
      for (const Node& item : node.items) write_json(item, out);
      out.end_array();
      return;
    case Kind::kMapping:
      out.begin_object();
      for (const Entry& entry : node.entries) write_json(entry.value, out.key(entry.key));
      out.end_object();
      return;
    case Kind::kScalar:
      break;
  }
  const std::string& text = node.scalar;
  if (!node.quoted && (text == "true" || text == "True" || text == "TRUE")) {
    out.boolean(true);
  } else if (!node.quoted && (text == "false" || text == "False" || text == "FALSE")) {
    out.boolean(false);
  } else if (!node.quoted && json::is_number_token(text)) {
    out.raw(text);
  } else {
    out.string(text);
  }
}

}  // namespace

Result<Node> from_json(const json::Value& value, std::string_view name) {
  Node node;
  node.line = 1;
  switch (value.type()) {
    case json::Type::kNull:
      return node;
    case json::Type::kArray:
      node.kind = Kind::kSequence;
      for (const json::Value item : value.items()) {
        SIGNALBOX_TRY(Node made, from_json(item, name));
        node.items.push_back(std::move(made));
      }
      return node;
    case json::Type::kObject:
      node.kind = Kind::kMapping;
      for (const json::Member member : value.members()) {
        if (node.find(member.key) != nullptr)
          return fail(Code::kInvalid, "{}: the key \"{}\" is given twice", name, member.key);
        SIGNALBOX_TRY(Node made, from_json(member.value, name));
        node.entries.push_back({std::string(member.key), 1, 1, std::move(made)});
      }
      return node;
    case json::Type::kString:
      node.quoted = true;
      node.scalar = value.text();
      break;
    case json::Type::kBool:
    case json::Type::kNumber:
      node.scalar = value.raw();
      break;
  }
  node.kind = Kind::kScalar;
  return node;
}

std::string to_json(const Node& node) {
  json::Writer out;
  write_json(node, out);
  return out.take();
}

}  // namespace signalbox::yaml

namespace signalbox::yaml::tree {
namespace {

Node made(Kind kind, uint32_t line) {
  Node node;
  node.kind = kind;
  node.line = line;
  node.column = 1;
  return node;
}

Node* find(Node& mapping, std::string_view key) {
  return const_cast<Node*>(std::as_const(mapping).find(key));
}

}  // namespace

Node text(std::string_view text, uint32_t line) {
  Node node = plain(text, line);
  node.quoted = true;
  return node;
}

Node plain(std::string_view text, uint32_t line) {
  Node node = made(Kind::kScalar, line);
  node.scalar = text;
  return node;
}

Node mapping(uint32_t line) {
  return made(Kind::kMapping, line);
}

Node sequence(uint32_t line) {
  return made(Kind::kSequence, line);
}

const Node* find_path(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const size_t end = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return node;
}

bool add(Node& mapping, std::string_view key, Node value) {
  if (mapping.find(key) != nullptr) return false;
  const uint32_t line = value.line;
  mapping.entries.push_back({std::string(key), line, 1, std::move(value)});
  return true;
}

void copy(const Node& from, std::string_view key, Node& to, std::string_view as) {
  const Node* value = from.find(key);
  if (value != nullptr && value->kind != Kind::kNull) add(to, as, *value);
}

void copy(const Node& from, std::string_view key, Node& to) {
  copy(from, key, to, key);
}

Node& at_path(Node& root, std::string_view path, uint32_t line) {
  Node* at = &root;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    path.remove_prefix(std::min(dot + 1, path.size()));
    if (find(*at, key) == nullptr) add(*at, key, mapping(line));
    at = find(*at, key);
    if (at->kind == Kind::kNull) *at = mapping(at->line);
  }
  return *at;
}

bool put(Node& root, std::string_view path, Node value) {
  const size_t dot = path.rfind('.');
  const std::string_view parent = dot == std::string_view::npos ? "" : path.substr(0, dot);
  const std::string_view key = dot == std::string_view::npos ? path : path.substr(dot + 1);
  Node& holder = at_path(root, parent, value.line);
  Node* there = find(holder, key);
  if (there == nullptr) return add(holder, key, std::move(value));
  if (there->kind != Kind::kMapping || value.kind != Kind::kMapping) return false;
  bool all = true;
  for (Entry& entry : value.entries) {
    all = put(*there, entry.key, std::move(entry.value)) && all;
  }
  return all;
}

std::string_view scalar(const Node& mapping, std::string_view key) {
  const Node* value = mapping.find(key);
  return value == nullptr || value->kind != Kind::kScalar ? std::string_view()
                                                          : std::string_view(value->scalar);
}

bool is_true(const Node& mapping, std::string_view key) {
  const std::string_view value = scalar(mapping, key);
  return value == "true" || value == "True" || value == "TRUE" || value == "yes" || value == "on";
}

}  // namespace signalbox::yaml::tree
