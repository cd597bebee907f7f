// Keys differ only in spelling: caseSensitive in the resources, case_sensitive in the file. The
// reader of the merged file decides whether a key is known and what it means.

#include "router/kubernetes/overlay.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "base/yaml_tree.h"
#include "base/yaml_writer.h"

namespace signalbox::kubernetes {
namespace {

namespace tree = yaml::tree;
using yaml::Node;

constexpr std::string_view kPool = "IntelligentPool", kRoute = "IntelligentRoute";
constexpr double kTokensOfPrice = 1e6;

/// Signal families: the name in resources and the name in the file.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSignals = {{
    {"keywords", "keywords"},
    {"embeddings", "embeddings"},
    {"domains", "domains"},
    {"contextRules", "context"},
    {"structure", "structure"},
    {"factCheckRules", "fact_check"},
    {"conversation", "conversation"},
    {"events", "events"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPrices = {{
    {"inputTokenPrice", "prompt_per_1m"},
    {"cachedInputTokenPrice", "cached_input_per_1m"},
    {"cacheWriteTokenPrice", "cache_write_per_1m"},
    {"outputTokenPrice", "completion_per_1m"},
}};

std::string snake(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (ascii::is_upper(c)) out.push_back('_');
    out.push_back(ascii::lower(c));
  }
  return out;
}

/// Escapes "${", which would otherwise be a variable of the environment.
void escape_variables(std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) out.push_back('$');
    out.push_back(text[i]);
  }
  text = std::move(out);
}

Node with_escaped_variables(Node node) {
  escape_variables(node.scalar);
  for (Node& item : node.items) item = with_escaped_variables(std::move(item));
  for (yaml::Entry& entry : node.entries) {
    escape_variables(entry.key);
    entry.value = with_escaped_variables(std::move(entry.value));
  }
  return node;
}

Node with_snake_keys(Node node) {
  for (Node& item : node.items) item = with_snake_keys(std::move(item));
  for (yaml::Entry& entry : node.entries) {
    entry.key = snake(entry.key);
    entry.value = with_snake_keys(std::move(entry.value));
  }
  return node;
}

void set(Node& mapping, std::string_view key, Node value) {
  std::erase_if(mapping.entries, [key](const yaml::Entry& each) { return each.key == key; });
  tree::add(mapping, key, std::move(value));
}

tl::unexpected<Error> invalid_spec(std::string_view kind, std::string_view path,
                                   std::string_view what) {
  return fail(Code::kInvalid, "{}: spec.{}: {}", kind, path, what);
}

/// Returns the items of a key, or none if the key is missing. Errors: it is not a list of mappings.
Result<std::vector<const Node*>> items_of(const Node& spec, std::string_view key,
                                          std::string_view kind) {
  std::vector<const Node*> out;
  const Node* list = spec.find(key);
  if (list == nullptr || list->kind == yaml::Kind::kNull) return out;
  if (list->kind != yaml::Kind::kSequence) return invalid_spec(kind, key, "expected an array");
  for (const Node& item : list->items) {
    if (item.kind != yaml::Kind::kMapping)
      return invalid_spec(kind, fmt::format("{}[{}]", key, out.size()), "expected an object");
    out.push_back(&item);
  }
  return out;
}

/// Returns the mapping under `key` of `root` and creates it if it is missing. Errors: the file has
/// another type of value there.
Result<Node*> mapping_at(Node& root, std::string_view key, std::string_view name) {
  Node* at = const_cast<Node*>(std::as_const(root).find(key));
  if (at == nullptr) {
    tree::add(root, key, tree::mapping(0));
    at = const_cast<Node*>(std::as_const(root).find(key));
  }
  if (at->kind == yaml::Kind::kNull) *at = tree::mapping(at->line);
  if (at->kind != yaml::Kind::kMapping)
    return fail(Code::kInvalid, "{}:{}: {}: expected a mapping", name, at->line, key);
  return at;
}

Result<Node> pricing_of(const Node& pricing, const std::string& path) {
  Node out = tree::mapping(0);
  tree::copy(pricing, "currency", out);
  for (const auto& [there, here] : kPrices) {
    const std::string text(tree::scalar(pricing, there));
    if (text.empty()) continue;
    char* end = nullptr;
    const double price = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !(price >= 0) || price > 1e6)
      return invalid_spec(kPool, fmt::format("{}.{}", path, there), "expected a price per token");
    // Twelve digits: a price of 0.0000001 per token becomes 0.1 per million, not
    // 0.09999999999999999.
    tree::add(out, here, tree::plain(fmt::format("{:.12g}", price * kTokensOfPrice), 0));
  }
  return out;
}

/// Merges a model of the pool into the file's model with the same name, or adds a new one.
Result<void> add_model(const Node& model, const std::string& path, Node& models) {
  const std::string_view name = tree::scalar(model, "name");
  if (name.empty()) return invalid_spec(kPool, path + ".name", "missing");
  Node* target = nullptr;
  for (Node& each : models.items) {
    if (tree::scalar(each, "name") == name) target = &each;
  }
  if (target == nullptr) {
    Node& made = models.items.emplace_back(tree::mapping(0));
    tree::add(made, "name", tree::text(name, 0));
    target = &made;
  }
  if (const Node* pricing = model.find("pricing");
      pricing != nullptr && pricing->kind == yaml::Kind::kMapping) {
    SIGNALBOX_TRY(Node prices, pricing_of(*pricing, path + ".pricing"));
    set(*target, "pricing", std::move(prices));
  }
  std::string_view family = tree::scalar(model, "reasoningFamily");
  if (const Node* reasoning = model.find("reasoning"); family.empty() && reasoning != nullptr) {
    family = tree::scalar(*reasoning, "family");
    if (family.empty())
      return invalid_spec(kPool, path + ".reasoning", "only \"family\" is supported");
  }
  if (!family.empty()) set(*target, "reasoning_family", tree::text(family, 0));
  return {};
}

Node card_of(const Node& model) {
  Node out = tree::mapping(0);
  tree::copy(model, "name", out);
  tree::copy(model, "loras", out);
  return out;
}

Result<Node> signals_of(const Node& spec) {
  Node out = tree::mapping(0);
  const Node* signals = spec.find("signals");
  if (signals == nullptr || signals->kind == yaml::Kind::kNull) return out;
  if (signals->kind != yaml::Kind::kMapping)
    return invalid_spec(kRoute, "signals", "expected an object");
  for (const yaml::Entry& family : signals->entries) {
    std::string_view here;
    for (const auto& [there, name] : kSignals) {
      if (there == family.key) here = name;
    }
    if (here.empty())
      return invalid_spec(kRoute, fmt::format("signals.{}", json::quote_briefly(family.key)),
                          "unknown");
    Node value = with_snake_keys(family.value);
    for (Node& item : value.items) {
      if (here != "domains" || item.kind != yaml::Kind::kMapping) continue;
      Node categories = tree::sequence(0);
      categories.items.push_back(tree::text(tree::scalar(item, "name"), 0));
      tree::add(item, "mmlu_categories", std::move(categories));
    }
    tree::add(out, here, std::move(value));
  }
  return out;
}

Node decision_of(const Node& decision) {
  Node out = tree::mapping(0);
  for (const yaml::Entry& entry : decision.entries) {
    if (entry.key == "signals") {
      tree::add(out, "rules", entry.value);
    } else if (entry.key == "modelRefs") {
      tree::add(out, "modelRefs", with_snake_keys(entry.value));
    } else {  // a plugin's keys are already those of the configuration
      tree::add(out, entry.key, entry.value);
    }
  }
  return out;
}

}  // namespace

Result<std::string> lay_over(std::string_view file, std::string_view name, const Node& pool_spec,
                             const Node& route_spec) {
  SIGNALBOX_TRY(Node root, yaml::parse(file, name));
  if (root.kind != yaml::Kind::kMapping || tree::scalar(root, "version").empty())
    return fail(Code::kInvalid, "{}: version: resources require a file of version v0.3", name);
  const Node pool = with_escaped_variables(pool_spec), route = with_escaped_variables(route_spec);
  if (tree::scalar(pool, "defaultModel").empty())
    return invalid_spec(kPool, "defaultModel", "missing");

  SIGNALBOX_TRY(Node* const providers, mapping_at(root, "providers", name));
  SIGNALBOX_TRY(Node* const defaults, mapping_at(*providers, "defaults", name));
  set(*defaults, "default_model", tree::text(tree::scalar(pool, "defaultModel"), 0));
  Node models = tree::sequence(0), cards = tree::sequence(0);
  if (const Node* there = providers->find("models"); there != nullptr && !there->items.empty())
    models = *there;
  SIGNALBOX_TRY(const auto pooled, items_of(pool, "models", kPool));
  for (size_t i = 0; i < pooled.size(); ++i) {
    SIGNALBOX_TRY_VOID(add_model(*pooled[i], fmt::format("models[{}]", i), models));
    cards.items.push_back(card_of(*pooled[i]));
  }
  set(*providers, "models", std::move(models));

  Node decisions = tree::sequence(0);
  SIGNALBOX_TRY(const auto decided, items_of(route, "decisions", kRoute));
  for (const Node* decision : decided) decisions.items.push_back(decision_of(*decision));
  SIGNALBOX_TRY(Node signals, signals_of(route));
  SIGNALBOX_TRY(Node* const routing, mapping_at(root, "routing", name));
  set(*routing, "modelCards", std::move(cards));
  set(*routing, "signals", std::move(signals));
  set(*routing, "decisions", std::move(decisions));
  return yaml::write(root);
}

}  // namespace signalbox::kubernetes
