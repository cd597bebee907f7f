// Documents are trees of yaml::Node in either syntax. A masked secret keeps its value only as long
// as the addresses around it stay the same: otherwise anybody who may change the file could have
// the secret sent to another address. This file does not know the address of a secret, so all
// addresses in the mapping around the secret count; if there are none, those in the next mapping
// outside count. In doubt the client must send the secret again.

#include "router/config/document.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/ascii.h"
#include "base/json.h"
#include "base/yaml.h"
#include "base/yaml_tree.h"
#include "base/yaml_writer.h"

namespace signalbox::config {
namespace {

using yaml::Node;

// --- finding secrets ---

// Endings of keys of secrets. A key like `api_key_env` names a variable, so its value is not a
// secret.
constexpr std::string_view kSecretEndings[] = {
    "password",   "passwd",      "secret",     "api_key",     "apikey",        "access_key",
    "secret_key", "private_key", "credential", "credentials", "authorization", "cookie",
};

// Words in the keys that determine where a secret is sent and who can read it there.
constexpr std::string_view kAddressWords[] = {
    "endpoint", "endpoints", "url",     "uri",  "address",  "addresses", "host",
    "hosts",    "server",    "servers", "port", "path",     "proxy",     "scheme",
    "socket",   "protocol",  "tls",     "ssl",  "insecure", "verify",    "ca",
};

std::string folded(std::string_view key) {
  std::string low;
  for (const char c : key) low.push_back(c == '-' ? '_' : ascii::lower(c));
  return low;
}

bool is_secret(std::string_view key) {
  const std::string low = folded(key);
  // A server may choose any name for the header of its key.
  if (low == "extra_headers" || low == "token" || low.ends_with("_token")) return true;
  return std::any_of(std::begin(kSecretEndings), std::end(kSecretEndings),
                     [&](std::string_view ending) { return low.ends_with(ending); });
}

bool is_address(std::string_view key) {
  const std::string low = folded(key);
  for (std::string_view rest = low; !rest.empty();) {
    const size_t end = std::min(rest.find('_'), rest.size());
    if (std::find(std::begin(kAddressWords), std::end(kAddressWords), rest.substr(0, end)) !=
        std::end(kAddressWords))
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool is_reference(std::string_view value) {
  return value.starts_with("${") && value.find('}') == value.size() - 1 &&
         value.find(":-") == std::string_view::npos;
}

/// "https://user:password@host", "https://key@host".
bool has_login(std::string_view text) {
  for (size_t scheme = 0; (scheme = text.find("://")) != std::string_view::npos;) {
    text.remove_prefix(scheme + 3);
    if (text.substr(0, text.find_first_of("/ \t\r\n\"")).find('@') != std::string_view::npos)
      return true;
  }
  return false;
}

bool mask(Node& node, bool secret) {
  bool any = false;
  if (node.kind == yaml::Kind::kScalar && !node.scalar.empty() && !is_reference(node.scalar) &&
      (secret || has_login(node.scalar))) {
    node.scalar = kMasked;
    node.quoted = any = true;
  }
  for (Node& item : node.items) any |= mask(item, secret);
  // {name: Authorization, value: ...}, an element of a list of headers.
  const Node* name = node.find("name");
  const bool named = name != nullptr && is_secret(name->scalar);
  // `headers` contains secrets beside an address; elsewhere it names headers of clients.
  const bool calls = std::any_of(node.entries.begin(), node.entries.end(),
                                 [](const yaml::Entry& entry) { return is_address(entry.key); });
  for (yaml::Entry& entry : node.entries) {
    any |= mask(entry.value, secret || is_secret(entry.key) || (named && entry.key == "value") ||
                                 (calls && entry.key == "headers"));
  }
  return any;
}

// --- keeping secrets ---

bool is_masked(const Node& node) {
  return node.kind == yaml::Kind::kScalar && node.scalar == kMasked;
}

bool holds_mask(const Node& node) {
  return is_masked(node) || std::any_of(node.items.begin(), node.items.end(), holds_mask) ||
         std::any_of(node.entries.begin(), node.entries.end(),
                     [](const yaml::Entry& entry) { return holds_mask(entry.value); });
}

void collect_addresses(const Node& node, const std::string& where, bool deep, bool all,
                       std::vector<std::string>& out) {
  for (const yaml::Entry& entry : node.entries) {
    const std::string path = where + "." + entry.key;
    const bool counts = all || is_address(entry.key);
    if (entry.value.kind == yaml::Kind::kMapping) {
      if (deep || counts) collect_addresses(entry.value, path, deep, counts, out);
    } else if (counts && entry.value.kind != yaml::Kind::kNull) {
      out.push_back(path + "=" + to_json(entry.value));
    }
  }
}

/// The addresses among the members of a mapping, which may be mappings (`tls: {enabled: true}`),
/// and with `deep` those of all mappings in it. "": none.
std::string addresses(const Node& node, bool deep) {
  std::vector<std::string> all;
  collect_addresses(node, "", deep, false, all);
  std::sort(all.begin(), all.end());  // clients may write keys in another order
  std::string out;
  for (const std::string& each : all) out += each + "\n";
  return out;
}

// --- variables of the environment ---

/// Adds the addresses of a node and of everything in it, lists included.
void collect_addresses_below(const Node& node, std::vector<std::string>& out) {
  collect_addresses(node, "", false, false, out);
  for (const Node& item : node.items) collect_addresses_below(item, out);
  for (const yaml::Entry& entry : node.entries) collect_addresses_below(entry.value, out);
}

std::string addresses_below(const Node& node) {
  std::vector<std::string> all;
  collect_addresses_below(node, all);
  std::sort(all.begin(), all.end());  // clients may write lists in another order
  return fmt::format("{}", fmt::join(all, "\n"));
}

/// A variable with its key and the addresses around it.
using Uses = std::vector<std::pair<std::string, std::string>>;

void collect_variables(const Node& node, std::string_view key, const std::string& around,
                       Uses& out) {
  const std::string low = folded(key);
  if (node.kind == yaml::Kind::kScalar) {
    const auto add = [&](std::string_view variable) {
      out.emplace_back(variable, fmt::format("{} {}\n{}", variable, low, around));
    };
    if (low == "env" || low.ends_with("_env")) add(node.scalar);
    std::string_view rest = node.scalar;
    for (size_t open = 0; (open = rest.find("${")) != std::string_view::npos;) {
      rest.remove_prefix(open + 2);
      add(rest.substr(0, rest.find_first_of(":}")));
    }
  }
  const bool has_address = !addresses(node, false).empty();
  const std::string inside = addresses_below(node);
  for (const Node& item : node.items) collect_variables(item, key, around, out);
  for (const yaml::Entry& entry : node.entries) {
    const bool is_value = entry.value.kind == yaml::Kind::kScalar;
    const bool counts = has_address || (is_value && !inside.empty());
    collect_variables(entry.value, entry.key, counts ? inside : around, out);
  }
}

/// A place in the current document: with its secrets, and as clients see it. Null if there is none.
struct Served {
  const Node* clear = nullptr;
  const Node* shown = nullptr;

  Served at(std::string_view key) const {
    if (clear == nullptr) return {};
    return {clear->find(key), shown->find(key)};
  }
  Served at(size_t index) const { return {&clear->items[index], &shown->items[index]}; }
  size_t size() const { return clear == nullptr ? 0 : clear->items.size(); }
  std::string addresses(bool deep) const {
    return shown == nullptr ? "" : config::addresses(*shown, deep);
  }
};

/// Identifies an element of a list that the client may have changed.
std::string identity(const Node& item) {
  if (const Node* name = item.find("name")) return "name " + name->scalar;
  const Node* type = item.find("type");
  return (type == nullptr ? "" : type->scalar) + " at " + addresses(item, true);
}

/// Returns the current element for each element that the client sent, so that clients may sort and
/// change lists. An equal element is taken first; otherwise the only one with the same identity,
/// among the elements that are not taken yet, or among all. Scalars correspond by their index only.
std::vector<Served> counterparts(const std::vector<Node>& sent, const Served& list) {
  std::vector<Served> out(sent.size());
  std::multimap<std::string, size_t> alike, left, all;
  for (size_t i = 0; i < list.size(); ++i) alike.emplace(to_json(*list.at(i).shown), i);
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].kind == yaml::Kind::kScalar) {
      if (sent.size() == list.size()) out[i] = list.at(i);
      continue;
    }
    const std::string looks = to_json(sent[i]);
    const auto same = alike.lower_bound(looks);
    if (same == alike.end() || same->first != looks) continue;
    out[i] = list.at(same->second);
    alike.erase(same);
  }
  for (const auto& [looks, i] : alike) left.emplace(identity(*list.at(i).shown), i);
  for (size_t i = 0; i < list.size(); ++i) all.emplace(identity(*list.at(i).shown), i);
  for (size_t i = 0; i < sent.size(); ++i) {
    if (out[i].clear != nullptr || sent[i].kind == yaml::Kind::kScalar) continue;
    const std::string own = identity(sent[i]);
    for (const auto* known : {&left, &all}) {
      const auto found = known->equal_range(own);
      if (std::distance(found.first, found.second) != 1) continue;
      out[i] = list.at(found.first->second);
      break;
    }
  }
  return out;
}

class Keeper {
 public:
  Result<bool> keep(Node& root, const Served& served) {
    SIGNALBOX_TRY_VOID(fill(root, served, 0));
    return kept_;
  }

 private:
  /// From this depth on, and in elements of lists, a mapping describes one server with all its
  /// parts.
  static constexpr size_t kOneServerDepth = 3;

  /// Replaces the masks in `node`. True if a secret was kept and its address has not been seen yet.
  Result<bool> fill(Node& node, const Served& served, size_t depth) {
    if (is_masked(node)) {
      masked_at_ = where_;
      if (served.clear == nullptr || served.clear->kind != yaml::Kind::kScalar)
        return refuse("no secret is stored for this place or this address");
      node = *served.clear;
      return kept_ = true;
    }
    if (!holds_mask(node)) return false;
    return node.kind == yaml::Kind::kSequence ? fill_items(node, served, depth)
                                              : fill_entries(node, served, depth);
  }

  Result<bool> fill_items(Node& node, const Served& served, size_t depth) {
    const std::vector<Served> own = counterparts(node.items, served);
    const size_t length = where_.size();
    bool open = false;
    for (size_t i = 0; i < node.items.size(); ++i) {
      where_ += fmt::format("[{}]", i);
      SIGNALBOX_TRY(const bool item, fill(node.items[i], own[i], std::max(depth, kOneServerDepth)));
      open |= item;
      where_.resize(length);
    }
    return open;
  }

  Result<bool> fill_entries(Node& node, const Served& served, size_t depth) {
    const std::string beside = addresses(node, false);
    const std::string inside = addresses(node, true);
    const size_t length = where_.size();
    bool open = false;
    for (yaml::Entry& entry : node.entries) {
      where_ += (length == 0 ? "" : ".") + entry.key;
      SIGNALBOX_TRY(const bool value, fill(entry.value, served.at(entry.key), depth + 1));
      open |= value;
      where_.resize(length);
    }
    const bool moved = beside != served.addresses(false) ||
                       (open && depth >= kOneServerDepth && inside != served.addresses(true));
    if (moved) return refuse("its address has changed");
    return open && inside.empty();
  }

  tl::unexpected<Error> refuse(std::string_view why) const {
    return fail(Code::kInvalid, "{}: \"{}\" stands for a secret, and {}; give the secret again",
                masked_at_, kMasked, why);
  }

  std::string where_;
  std::string masked_at_;  // place of the last mask
  bool kept_ = false;
};

// --- documents ---

Result<Node> read(std::string_view text, std::string_view name, const yaml::Limits& limits = {}) {
  if (syntax_of(text) == Syntax::kYaml) return yaml::parse(text, name, limits);
  auto document = json::Document::parse(std::string(text), {limits.bytes, limits.depth});
  if (!document) return fail_in(name, std::move(document).error());
  return yaml::from_json(document->root(), name);
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

bool mask_secrets(Node& root) {
  return mask(root, false);
}

bool has_secrets_in_comments(std::string_view text) {
  const auto is_word = [](char c) {
    return ascii::is_alpha(c) || ascii::is_digit(c) || c == '_' || c == '-';
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line = line.substr(std::min(line.find('#'), line.size()));
    if (has_login(line)) return true;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] != ':' && line[i] != '=') continue;
      size_t last = i;
      while (last > 0 && std::string_view(" \t\"'").find(line[last - 1]) != std::string_view::npos)
        --last;
      size_t first = last;
      while (first > 0 && is_word(line[first - 1])) --first;
      if (is_secret(line.substr(first, last - first))) return true;
    }
  }
  return false;
}

Result<bool> keep_secrets(Node& root, const Node& current) {
  Node shown = current;
  mask_secrets(shown);
  return Keeper().keep(root, {&current, &shown});
}

Syntax syntax_of(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? Syntax::kJson : Syntax::kYaml;
}

Result<std::string> management_of(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(const Node root, read(text, name));
  const Node* node = yaml::tree::find_path(root, "global.services.management_api");
  return node == nullptr ? std::string() : yaml::write(*node);
}

Result<std::vector<std::string>> new_variables(std::string_view current, std::string_view changed,
                                               std::string_view name) {
  SIGNALBOX_TRY(const Node old_root, read(current, name));
  SIGNALBOX_TRY(const Node new_root, read(changed, name));
  Uses before, after;
  collect_variables(old_root, "", "", before);
  collect_variables(new_root, "", "", after);
  std::vector<std::string> out;
  for (const auto& use : after) {
    const bool is_known = std::find(before.begin(), before.end(), use) != before.end();
    if (!is_known && std::find(out.begin(), out.end(), use.first) == out.end())
      out.push_back(use.first);
  }
  return out;
}

Result<std::string> show(std::string_view text, std::string_view name, Syntax syntax,
                         bool with_secrets) {
  SIGNALBOX_TRY(Node root, read(text, name));
  if (!with_secrets) mask_secrets(root);
  return syntax == Syntax::kYaml ? yaml::write(root) : to_json(root);
}

Result<std::optional<std::string>> as_written(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(Node root, read(text, name));
  if (mask_secrets(root) || has_secrets_in_comments(text)) return std::nullopt;
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
  // Aliases would be expanded in the file: a few bytes can become megabytes.
  SIGNALBOX_TRY(Node change, read(patch, name, {.aliases = false}));
  if (change.kind != yaml::Kind::kMapping)
    return fail(Code::kInvalid, "{}: a patch is a mapping of keys to their new values", name);
  // Mask first, so that the check of addresses includes secrets that the patch does not mention.
  Node root = old;
  mask_secrets(root);
  merge(root, std::move(change));
  const Result<bool> kept = keep_secrets(root, old);
  if (!kept) return fail_in(name, kept.error());
  return yaml::write(root);
}

}  // namespace signalbox::config
