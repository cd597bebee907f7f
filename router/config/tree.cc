// Plain functions over yaml::Node; nothing here knows what the keys mean.

#include "router/config/tree.h"

#include <algorithm>

namespace signalbox::config::tree {
namespace {

yaml::Node made(yaml::Kind kind, uint32_t line) {
  yaml::Node node;
  node.kind = kind;
  node.line = line;
  node.column = 1;
  return node;
}

yaml::Node* find(yaml::Node& mapping, std::string_view key) {
  return const_cast<yaml::Node*>(std::as_const(mapping).find(key));
}

}  // namespace

yaml::Node text(std::string_view text, uint32_t line) {
  yaml::Node node = plain(text, line);
  node.quoted = true;
  return node;
}

yaml::Node plain(std::string_view text, uint32_t line) {
  yaml::Node node = made(yaml::Kind::kScalar, line);
  node.scalar = text;
  return node;
}

yaml::Node mapping(uint32_t line) {
  return made(yaml::Kind::kMapping, line);
}

yaml::Node sequence(uint32_t line) {
  return made(yaml::Kind::kSequence, line);
}

bool add(yaml::Node& mapping, std::string_view key, yaml::Node value) {
  if (mapping.find(key) != nullptr) return false;
  const uint32_t line = value.line;
  mapping.entries.push_back({std::string(key), line, 1, std::move(value)});
  return true;
}

void copy(const yaml::Node& from, std::string_view key, yaml::Node& to, std::string_view as) {
  const yaml::Node* value = from.find(key);
  if (value != nullptr && value->kind != yaml::Kind::kNull) add(to, as, *value);
}

void copy(const yaml::Node& from, std::string_view key, yaml::Node& to) {
  copy(from, key, to, key);
}

yaml::Node& at_path(yaml::Node& root, std::string_view path, uint32_t line) {
  yaml::Node* at = &root;
  while (!path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    path.remove_prefix(std::min(dot + 1, path.size()));
    if (find(*at, key) == nullptr) add(*at, key, mapping(line));
    at = find(*at, key);
    if (at->kind == yaml::Kind::kNull) *at = mapping(at->line);
  }
  return *at;
}

bool put(yaml::Node& root, std::string_view path, yaml::Node value) {
  const size_t dot = path.rfind('.');
  const std::string_view parent = dot == std::string_view::npos ? "" : path.substr(0, dot);
  const std::string_view key = dot == std::string_view::npos ? path : path.substr(dot + 1);
  yaml::Node& holder = at_path(root, parent, value.line);
  yaml::Node* there = find(holder, key);
  if (there == nullptr) return add(holder, key, std::move(value));
  if (there->kind != yaml::Kind::kMapping || value.kind != yaml::Kind::kMapping) return false;
  bool all = true;
  for (yaml::Entry& entry : value.entries) {
    all = put(*there, entry.key, std::move(entry.value)) && all;
  }
  return all;
}

std::string_view scalar(const yaml::Node& mapping, std::string_view key) {
  const yaml::Node* value = mapping.find(key);
  return value == nullptr || value->kind != yaml::Kind::kScalar ? std::string_view()
                                                                : std::string_view(value->scalar);
}

bool is_true(const yaml::Node& mapping, std::string_view key) {
  const std::string_view value = scalar(mapping, key);
  return value == "true" || value == "True" || value == "TRUE" || value == "yes" || value == "on";
}

}  // namespace signalbox::config::tree
