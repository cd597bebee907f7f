// Trees of yaml::Node, whatever the syntax. What in them is secret is secrets.h's.

#include "router/config/document.h"

#include <algorithm>

#include "base/json.h"
#include "base/yaml.h"
#include "base/yaml_writer.h"
#include "router/config/json_tree.h"
#include "router/config/secrets.h"

namespace signalbox::config {
namespace {

using yaml::Node;

Result<Node> read(std::string_view text, std::string_view name, const yaml::Limits& limits = {}) {
  if (syntax_of(text) == Syntax::kYaml) return yaml::parse(text, name, limits);
  auto document = json::Document::parse(std::string(text), {limits.bytes, limits.depth});
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
  if (!with_secrets) mask_secrets(root);
  return syntax == Syntax::kYaml ? yaml::write(root) : json_of(root);
}

Result<std::optional<std::string>> as_written(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(Node root, read(text, name));
  if (mask_secrets(root) || comments_tell_secrets(text)) return std::nullopt;
  return std::string(text);
}

Result<std::string> replaced(std::string_view current, std::string_view sent,
                             std::string_view name) {
  SIGNALBOX_TRY(Node root, read(sent, name));
  SIGNALBOX_TRY(const Node old, read(current, name));
  const Result<bool> kept = keep_secrets(root, old);
  if (!kept) return fail_in(name, kept.error());
  if (!*kept && syntax_of(sent) == Syntax::kYaml) return std::string(sent);
  return yaml::write(root);
}

Result<std::string> patched(std::string_view current, std::string_view patch,
                            std::string_view name) {
  SIGNALBOX_TRY(const Node old, read(current, name));
  // Aliases would be written out into the file: a few bytes can be megabytes.
  SIGNALBOX_TRY(Node change, read(patch, name, {.aliases = false}));
  if (change.kind != yaml::Kind::kMapping)
    return fail(Code::kInvalid, "{}: a patch is a mapping of keys to their new values", name);
  // Masked first: a secret that the patch leaves alone stays with its address, too.
  Node root = old;
  mask_secrets(root);
  merge(root, std::move(change));
  const Result<bool> kept = keep_secrets(root, old);
  if (!kept) return fail_in(name, kept.error());
  return yaml::write(root);
}

}  // namespace signalbox::config
