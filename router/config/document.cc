// Trees of yaml::Node. Lists are the same place when their elements have the same name, and by
// number otherwise, so that a client may sort what it sends back.

#include "router/config/document.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/yaml.h"
#include "base/yaml_writer.h"

namespace signalbox::config {
namespace {

using yaml::Node;

// --- secrets ---

/// Keys whose values are secrets, by how they end. `api_key_env` and the like name a variable.
constexpr std::string_view kSecretEndings[] = {
    "password",   "passwd",      "secret",     "api_key",     "apikey",        "access_key",
    "secret_key", "private_key", "credential", "credentials", "authorization", "cookie",
};

bool is_secret(std::string_view key) {
  std::string low;
  for (const char c : key) {
    low.push_back(c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  if (low == "token" || low.ends_with("_token")) return true;
  return std::any_of(std::begin(kSecretEndings), std::end(kSecretEndings),
                     [&](std::string_view ending) { return low.ends_with(ending); });
}

bool is_reference(std::string_view value) {
  return value.starts_with("${") && value.find('}') == value.size() - 1 &&
         value.find(":-") == std::string_view::npos;
}

/// "https://user:password@host".
bool has_credentials(std::string_view value) {
  const size_t scheme = value.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view rest = value.substr(scheme + 3);
  const size_t at = rest.substr(0, rest.find('/')).rfind('@');
  return at != std::string_view::npos && rest.substr(0, at).find(':') != std::string_view::npos;
}

void mask(Node& node, bool secret) {
  if (node.kind == yaml::Kind::kScalar && !node.scalar.empty() && !is_reference(node.scalar) &&
      (secret || has_credentials(node.scalar))) {
    node.scalar = kMasked;
    node.quoted = true;
  }
  for (Node& item : node.items) mask(item, secret);
  // {name: Authorization, value: ...}, as lists of header fields are written.
  const Node* name = node.find("name");
  const bool named = name != nullptr && is_secret(name->scalar);
  for (yaml::Entry& entry : node.entries) {
    mask(entry.value, secret || is_secret(entry.key) || (named && entry.key == "value"));
  }
}

const Node* counterpart(const Node* list, const Node& item, size_t index) {
  if (list == nullptr) return nullptr;
  if (const Node* name = item.find("name"); name != nullptr) {
    for (const Node& other : list->items) {
      const Node* own = other.find("name");
      if (own != nullptr && own->scalar == name->scalar) return &other;
    }
    return nullptr;
  }
  return index < list->items.size() ? &list->items[index] : nullptr;
}

/// Fills masked values in from `current`. False when there is nothing to fill one with; `where` is
/// then its path.
bool unmask(Node& node, const Node* current, std::string& where, bool& filled) {
  const size_t length = where.size();
  if (node.kind == yaml::Kind::kScalar && node.scalar == kMasked) {
    if (current == nullptr || current->kind != yaml::Kind::kScalar) return false;
    node = *current;
    filled = true;
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    where += fmt::format("[{}]", i);
    if (!unmask(node.items[i], counterpart(current, node.items[i], i), where, filled)) return false;
    where.resize(length);
  }
  for (yaml::Entry& entry : node.entries) {
    where += (length == 0 ? "" : ".") + entry.key;
    const Node* own = current == nullptr ? nullptr : current->find(entry.key);
    if (!unmask(entry.value, own, where, filled)) return false;
    where.resize(length);
  }
  return true;
}

Result<bool> fill_in(Node& root, const Node& current, std::string_view name) {
  std::string where;
  bool filled = false;
  if (unmask(root, &current, where, filled)) return filled;
  return fail(Code::kInvalid, "{}: {}: \"{}\" stands for a secret, and there is none to keep", name,
              where, kMasked);
}

// --- JSON ---

void write_json(const Node& node, json::Writer& out) {
  switch (node.kind) {
    case yaml::Kind::kNull:
      out.null();
      return;
    case yaml::Kind::kSequence:
      out.begin_array();
      for (const Node& item : node.items) write_json(item, out);
      out.end_array();
      return;
    case yaml::Kind::kMapping:
      out.begin_object();
      for (const yaml::Entry& entry : node.entries) write_json(entry.value, out.key(entry.key));
      out.end_object();
      return;
    case yaml::Kind::kScalar:
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

Result<Node> from_json(const json::Value& value, std::string_view name) {
  Node node;
  node.line = 1;
  switch (value.type()) {
    case json::Type::kNull:
      return node;
    case json::Type::kArray:
      node.kind = yaml::Kind::kSequence;
      for (const json::Value item : value.items()) {
        SIGNALBOX_TRY(Node made, from_json(item, name));
        node.items.push_back(std::move(made));
      }
      return node;
    case json::Type::kObject:
      node.kind = yaml::Kind::kMapping;
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
  node.kind = yaml::Kind::kScalar;
  return node;
}

Result<Node> read(std::string_view text, std::string_view name) {
  if (syntax_of(text) == Syntax::kYaml) return yaml::parse(text, name);
  constexpr json::Limits limits{yaml::Limits{}.bytes, yaml::Limits{}.depth};
  auto document = json::Document::parse(std::string(text), limits);
  if (!document) return fail_in(name, std::move(document).error());
  return from_json(document->root(), name);
}

void merge(Node& into, Node patch) {
  if (patch.kind != yaml::Kind::kMapping) {
    into = std::move(patch);
    return;
  }
  if (into.kind != yaml::Kind::kMapping) {
    into = Node{};
    into.kind = yaml::Kind::kMapping;
  }
  for (yaml::Entry& change : patch.entries) {
    const auto at = std::find_if(into.entries.begin(), into.entries.end(),
                                 [&](const yaml::Entry& entry) { return entry.key == change.key; });
    if (change.value.kind == yaml::Kind::kNull) {
      if (at != into.entries.end()) into.entries.erase(at);
    } else if (at != into.entries.end()) {
      merge(at->value, std::move(change.value));
    } else {
      Node made;
      merge(made, std::move(change.value));
      into.entries.push_back({change.key, 0, 0, std::move(made)});
    }
  }
}

}  // namespace

Syntax syntax_of(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? Syntax::kJson : Syntax::kYaml;
}

Result<std::string> management_of(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(const Node root, read(text, name));
  const Node* node = &root;
  for (const std::string_view key : {"global", "services", "management_api"}) {
    node = node->find(key);
    if (node == nullptr) return std::string();
  }
  return yaml::write(*node);
}

Result<std::string> show(std::string_view text, std::string_view name, Syntax syntax,
                         bool with_secrets) {
  SIGNALBOX_TRY(Node root, read(text, name));
  if (!with_secrets) mask(root, false);
  if (syntax == Syntax::kYaml) return yaml::write(root);
  json::Writer out;
  write_json(root, out);
  return out.take();
}

Result<std::optional<std::string>> as_written(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(const Node root, read(text, name));
  Node masked = root;
  mask(masked, false);
  if (yaml::write(masked) != yaml::write(root)) return std::nullopt;
  return std::string(text);
}

Result<std::string> replaced(std::string_view current, std::string_view sent,
                             std::string_view name) {
  SIGNALBOX_TRY(Node root, read(sent, name));
  SIGNALBOX_TRY(const Node old, read(current, name));
  SIGNALBOX_TRY(const bool filled, fill_in(root, old, name));
  if (!filled && syntax_of(sent) == Syntax::kYaml) return std::string(sent);
  return yaml::write(root);
}

Result<std::string> patched(std::string_view current, std::string_view patch,
                            std::string_view name) {
  SIGNALBOX_TRY(const Node old, read(current, name));
  SIGNALBOX_TRY(Node change, read(patch, name));
  if (change.kind != yaml::Kind::kMapping)
    return fail(Code::kInvalid, "{}: a patch is a mapping of keys to their new values", name);
  Node root = old;
  merge(root, std::move(change));
  SIGNALBOX_TRY(const bool filled, fill_in(root, old, name));
  static_cast<void>(filled);
  return yaml::write(root);
}

}  // namespace signalbox::config
