// Most of a migration is a table of blocks and their places in v0.3. Reading the result with v0.3's
// own tables finds the unknown keys inside a moved block, so this file need not list them.

#include "router/config/migrate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/yaml_tree.h"
#include "router/config/reader.h"
#include "router/config/sections.h"

namespace signalbox::config {

namespace tree = yaml::tree;

namespace {

struct Move {
  std::string_view from;
  std::string_view to;
};

constexpr auto kMoves = std::to_array<Move>({
    {"listeners", "listeners"},
    {"global", "global"},
    {"entrypoints", "entrypoints"},
    {"recipes", "recipes"},
    {"routing", "routing"},
    {"setup", "setup"},

    {"default_model", "providers.defaults.default_model"},
    {"default_reasoning_effort", "providers.defaults.default_reasoning_effort"},
    {"reasoning_families", "providers.defaults.reasoning_families"},
    {"providers.defaults", "providers.defaults"},
    {"providers.default_model", "providers.defaults.default_model"},
    {"providers.default_reasoning_effort", "providers.defaults.default_reasoning_effort"},
    {"providers.reasoning_families", "providers.defaults.reasoning_families"},
    {"providers.external_models", "global.model_catalog.external"},

    {"signals", "routing.signals"},
    {"decisions", "routing.decisions"},
    {"projections", "routing.projections"},
    {"keyword_rules", "routing.signals.keywords"},
    {"embedding_rules", "routing.signals.embeddings"},
    {"fact_check_rules", "routing.signals.fact_check"},
    {"user_feedback_rules", "routing.signals.user_feedbacks"},
    {"reask_rules", "routing.signals.reasks"},
    {"preference_rules", "routing.signals.preferences"},
    {"language_rules", "routing.signals.language"},
    {"context_rules", "routing.signals.context"},
    {"structure_rules", "routing.signals.structure"},
    {"complexity_rules", "routing.signals.complexity"},
    {"modality_rules", "routing.signals.modality"},
    {"role_bindings", "routing.signals.role_bindings"},
    {"jailbreak", "routing.signals.jailbreak"},
    {"pii", "routing.signals.pii"},
    {"kb", "routing.signals.kb"},
    {"conversation", "routing.signals.conversation"},
    {"events", "routing.signals.events"},
    {"metadata", "routing.signals.metadata"},
    {"classifiers", "routing.signals.classifiers"},

    {"strategy", "global.router.strategy"},
    {"config_source", "global.router.config_source"},
    {"auto_model_name", "global.router.auto_model_name"},
    {"auto_model_names", "global.router.auto_model_names"},
    {"include_config_models_in_list", "global.router.include_config_models_in_list"},
    {"clear_route_cache", "global.router.clear_route_cache"},
    {"model_selection", "global.router.model_selection"},
    {"streamed_body_mode", "global.router.streamed_body.enabled"},
    {"max_streamed_body_bytes", "global.router.streamed_body.max_bytes"},
    {"streamed_body_timeout_sec", "global.router.streamed_body.timeout_sec"},

    {"api", "global.services.api"},
    {"response_api", "global.services.response_api"},
    {"router_replay", "global.services.router_replay"},
    {"observability", "global.services.observability"},
    {"authz", "global.services.authz"},
    {"ratelimit", "global.services.ratelimit"},

    {"semantic_cache", "global.stores.response_cache"},
    {"response_cache", "global.stores.response_cache"},
    {"memory", "global.stores.memory"},
    {"vector_store", "global.stores.vector_store"},
    {"tools", "global.integrations.tools"},
    {"looper", "global.integrations.looper"},

    {"bert_model.model_id", "global.model_catalog.embeddings.semantic.bert_model_path"},
    {"bert_model.use_cpu", "global.model_catalog.embeddings.semantic.use_cpu"},
    {"bert_model.threshold",
     "global.model_catalog.embeddings.semantic.embedding_config.min_score_threshold"},
    {"embedding_models", "global.model_catalog.embeddings.semantic"},
    {"system_models", "global.model_catalog.system"},
    {"external_models", "global.model_catalog.external"},

    {"prompt_guard", "global.model_catalog.modules.prompt_guard"},
    {"prompt_compression", "global.model_catalog.modules.prompt_compression"},
    {"feedback_detector", "global.model_catalog.modules.feedback_detector"},
    {"modality_detector", "global.model_catalog.modules.modality_detector"},
    {"classifier.category_model", "global.model_catalog.modules.classifier.domain"},
    {"classifier.pii_model", "global.model_catalog.modules.classifier.pii"},
    {"classifier.mcp_category_model", "global.model_catalog.modules.classifier.mcp"},
    {"classifier.preference_model", "global.model_catalog.modules.classifier.preference"},
    {"hallucination_mitigation.enabled",
     "global.model_catalog.modules.hallucination_mitigation.enabled"},
    {"hallucination_mitigation.on_hallucination_detected",
     "global.model_catalog.modules.hallucination_mitigation.on_hallucination_detected"},
    {"hallucination_mitigation.fact_check_model",
     "global.model_catalog.modules.hallucination_mitigation.fact_check"},
    {"hallucination_mitigation.hallucination_model",
     "global.model_catalog.modules.hallucination_mitigation.detector"},
    {"hallucination_mitigation.nli_model",
     "global.model_catalog.modules.hallucination_mitigation.explainer"},
});

// Blocks that migrate_models() and migrate_decisions() convert.
constexpr auto kElsewhere = std::to_array<std::string_view>(
    {"vllm_endpoints", "provider_profiles", "model_config", "categories", "providers.models"});

// Blocks that a v0.3 file has at its top under the same name.
constexpr auto kInBoth = std::to_array<std::string_view>(
    {"listeners", "providers", "routing", "global", "entrypoints", "recipes", "setup"});

constexpr auto kUnused = std::to_array<std::string_view>({"gpu_config"});

template <class Table>
bool contains(const Table& table, std::string_view name) {
  return std::find(table.begin(), table.end(), name) != table.end();
}

bool is_prefix_of_a_move(std::string_view path) {
  const auto begins = [&](std::string_view longer) {
    return longer.size() > path.size() && longer.starts_with(path) && longer[path.size()] == '.';
  };
  return std::any_of(kMoves.begin(), kMoves.end(), [&](const Move& m) { return begins(m.from); });
}

void move_blocks(Reader& reader, const yaml::Node& node, std::string_view path, yaml::Node& out) {
  for (const yaml::Entry& entry : node.entries) {
    const std::string here = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    if (here == "version" || contains(kElsewhere, here)) continue;
    if (entry.value.kind == yaml::Kind::kNull) continue;
    const auto move = std::find_if(kMoves.begin(), kMoves.end(),
                                   [&](const Move& each) { return each.from == here; });
    if (move != kMoves.end()) {
      if (!tree::put(out, move->to, entry.value))
        left_out(reader, entry, path, fmt::format("{} is given as well", move->to));
    } else if (entry.value.kind == yaml::Kind::kMapping && is_prefix_of_a_move(here)) {
      move_blocks(reader, entry.value, here, out);
    } else {
      left_out(reader, entry, path);
    }
  }
}

// Removes the entries that v0.3's tables do not have.
void prune(yaml::Node& node, const std::vector<const yaml::Entry*>& unknown) {
  for (yaml::Node& item : node.items) prune(item, unknown);
  std::vector<yaml::Entry> kept;
  for (yaml::Entry& entry : node.entries) {
    if (std::find(unknown.begin(), unknown.end(), &entry) != unknown.end()) continue;
    prune(entry.value, unknown);
    kept.push_back(std::move(entry));
  }
  node.entries = std::move(kept);
}

// Sorts the blocks in v0.3's usual order, for people who read the result.
void sort_root(yaml::Node& root) {
  constexpr auto kOrder = std::to_array<std::string_view>(
      {"version", "listeners", "providers", "routing", "entrypoints", "recipes", "global"});
  const auto rank = [&](const yaml::Entry& entry) {
    return std::find(kOrder.begin(), kOrder.end(), entry.key) - kOrder.begin();
  };
  std::stable_sort(root.entries.begin(), root.entries.end(),
                   [&](const yaml::Entry& a, const yaml::Entry& b) { return rank(a) < rank(b); });
}

}  // namespace

void left_out(Reader& reader, const yaml::Entry& entry, std::string_view where,
              std::string_view why) {
  const auto note = [&] {
    reader.at_key(entry.key, [&] { reader.notice(entry.line, fmt::format("left out: {}", why)); });
  };
  where.empty() ? note() : reader.at_key(where, note);
}

bool is_older_form(const yaml::Node& root) {
  if (root.kind != yaml::Kind::kMapping) return false;
  const std::string_view version = tree::scalar(root, "version");
  if (version == "v0.1" || version == "v0.2" || version == "0.1" || version == "0.2") return true;
  if (root.find("version") != nullptr) return false;
  return std::any_of(root.entries.begin(), root.entries.end(), [](const yaml::Entry& entry) {
    const bool in_both = contains(kInBoth, entry.key);
    const bool moves = std::any_of(kMoves.begin(), kMoves.end(), [&](const Move& move) {
      return move.from.substr(0, move.from.find('.')) == entry.key;
    });
    return !in_both && (moves || contains(kElsewhere, entry.key) || contains(kUnused, entry.key));
  });
}

yaml::Node migrate(Reader& reader, const yaml::Node& root) {
  yaml::Node out = tree::mapping(root.line);
  tree::add(out, "version", tree::plain("v0.3", root.line));
  move_blocks(reader, root, "", out);
  migrate_decisions(reader, root, out);
  migrate_models(reader, root, out);
  sort_root(out);

  Reader probe("", {});
  read_section(probe, out, kRoot, &probe.config);
  for (const auto& [path, entry] : probe.unknown()) left_out(reader, *entry, path);
  std::vector<const yaml::Entry*> unknown;
  for (const auto& [path, entry] : probe.unknown()) unknown.push_back(entry);
  prune(out, unknown);
  return out;
}

// --- newer forms ---

// Entrypoints of newer files assign models to the decisions of their recipe. They become modelRefs
// before the file is read, so that a decision's models have one place.

namespace {

yaml::Node* child(yaml::Node& node, std::string_view key) {
  for (yaml::Entry& entry : node.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

yaml::Node* named(yaml::Node* list, std::string_view name) {
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      list->items, [&](const yaml::Node& each) { return tree::scalar(each, "name") == name; });
  return found == list->items.end() ? nullptr : &*found;
}

constexpr std::string_view kFamilyOfCard = "reasoning_family_ref";

// The family moves from the card to the model of its name, which may have it already.
void move_families(Reader& reader, yaml::Node& routing, yaml::Node* models) {
  yaml::Node* cards = child(routing, "modelCards");
  if (cards == nullptr) return;
  for (size_t i = 0; i < cards->items.size(); ++i) {
    yaml::Node& card = cards->items[i];
    const yaml::Node* family = given(card, kFamilyOfCard);
    yaml::Node* model = named(models, tree::scalar(card, "name"));
    if (family == nullptr || model == nullptr) continue;
    const yaml::Node* reasoning = given(*model, "reasoning");
    const yaml::Node* own = given(*model, "reasoning_family");
    if (own == nullptr && reasoning != nullptr) own = given(*reasoning, "family");
    const bool is_described = reasoning != nullptr && given(*reasoning, "type") != nullptr;
    if (own == nullptr && !is_described) {
      std::erase_if(model->entries,
                    [](const yaml::Entry& each) { return each.key == "reasoning_family"; });
      tree::add(*model, "reasoning_family", *family);
    } else if (own == nullptr || own->scalar != family->scalar) {
      reader.at_key(fmt::format("routing.modelCards[{}].{}", i, kFamilyOfCard), [&] {
        reader.error(family->line, fmt::format("\"{}\" contradicts the reasoning of the model in "
                                               "providers.models",
                                               family->scalar));
      });
    }
    std::erase_if(card.entries, [](const yaml::Entry& each) { return each.key == kFamilyOfCard; });
  }
}

// Recipes that come with the Semantic Router, which its catalogue lists beside models.
bool is_own_recipe(const yaml::Node& model) {
  return tree::scalar(model, "catalog").starts_with("vllm-sr/");
}

void leave_out_recipes(Reader& reader, yaml::Node& models) {
  for (size_t i = 0; i < models.items.size(); ++i) {
    const yaml::Node& model = models.items[i];
    if (!is_own_recipe(model)) continue;
    reader.at_key(fmt::format("providers.models[{}].catalog", i), [&] {
      reader.does_without(model.line,
                          fmt::format("left out: \"{}\" is a recipe that comes with the Semantic "
                                      "Router; this router has none of them, so it cannot be the "
                                      "default model or that of a decision or a request",
                                      tree::scalar(model, "catalog")));
    });
  }
  std::erase_if(models.items, is_own_recipe);
}

/// The default model of a file that names an adapter there, and the model whose card has it.
struct DefaultAdapter {
  const yaml::Node* name;
  const yaml::Node* base;
};

const yaml::Node* find_named(const yaml::Node* list, std::string_view name) {
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      list->items, [name](const yaml::Node& each) { return tree::scalar(each, "name") == name; });
  return found == list->items.end() ? nullptr : &*found;
}

std::optional<DefaultAdapter> default_adapter(const yaml::Node& root) {
  const yaml::Node* defaults = tree::find_path(root, "providers.defaults");
  const yaml::Node* models = tree::find_path(root, "providers.models");
  const yaml::Node* cards = tree::find_path(root, "routing.modelCards");
  if (defaults == nullptr || cards == nullptr) return std::nullopt;
  for (const std::string_view key : {"model", "default_model"}) {
    const yaml::Node* name = given(*defaults, key);
    if (name == nullptr || find_named(models, name->scalar) != nullptr) continue;
    for (const yaml::Node& card : cards->items) {
      const yaml::Node* base = find_named(models, tree::scalar(card, "name"));
      if (base != nullptr && find_named(card.find("loras"), name->scalar) != nullptr)
        return DefaultAdapter{name, base};
    }
  }
  return std::nullopt;
}

// A server lists its adapters as models, so the adapter becomes a model at the servers of its base.
void add_default_adapter(Reader& reader, const DefaultAdapter& adapter, yaml::Node& models) {
  const std::string name = adapter.name->scalar;
  reader.notice(adapter.name->line,
                fmt::format("the default model \"{}\" is an adapter of \"{}\"; it is read as a "
                            "model of the same servers",
                            name, tree::scalar(*adapter.base, "name")));
  yaml::Node model = *adapter.base;
  std::erase_if(model.entries, [](const yaml::Entry& each) {
    return each.key == "name" || each.key == "provider_model_id" || each.key == "catalog" ||
           each.key == "external_model_ids";
  });
  tree::add(model, "name", tree::text(name, model.line));
  models.items.push_back(std::move(model));
}

bool is_empty_text(const yaml::Node& node) {
  return node.kind == yaml::Kind::kScalar && node.scalar.empty();
}

bool has_empty_keyword(const yaml::Node& signal) {
  const yaml::Node* keywords = signal.find("keywords");
  const std::string_view method = tree::scalar(signal, "method");
  const bool can_move = (method.empty() || method == "regex") && !signal.find("patterns");
  if (!can_move || keywords == nullptr) return false;
  const auto is_scalar = [](const yaml::Node& each) { return each.kind == yaml::Kind::kScalar; };
  return std::ranges::all_of(keywords->items, is_scalar) &&
         std::ranges::any_of(keywords->items, is_empty_text);
}

// An empty keyword occurs in every text, like the beginning of a text.
void replace_empty_keywords(Reader& reader, yaml::Node& routing) {
  yaml::Node* signals = child(routing, "signals");
  yaml::Node* all = signals == nullptr ? nullptr : child(*signals, "keywords");
  for (size_t i = 0; all != nullptr && i < all->items.size(); ++i) {
    yaml::Node& signal = all->items[i];
    if (!has_empty_keyword(signal)) continue;
    yaml::Node& keywords = *child(signal, "keywords");
    const uint32_t line = keywords.line;
    reader.notice(line, "an empty keyword occurs in every text");
    std::erase_if(keywords.items, is_empty_text);
    yaml::Node patterns = tree::sequence(line);
    patterns.items.push_back(tree::text("^", line));
    if (keywords.items.empty())
      std::erase_if(signal.entries, [](const yaml::Entry& each) { return each.key == "keywords"; });
    tree::add(signal, "patterns", std::move(patterns));
  }
}

constexpr std::string_view kGroups = "signal_groups";

// Groups of signals have the keys of partitions. If a file has both, the groups remain an error.
void move_groups(yaml::Node& routing) {
  yaml::Node* signals = child(routing, "signals");
  const yaml::Node* groups = signals == nullptr ? nullptr : given(*signals, kGroups);
  if (groups == nullptr || !tree::put(routing, "projections.partitions", *groups)) return;
  signals = child(routing, "signals");
  std::erase_if(signals->entries, [](const yaml::Entry& each) { return each.key == kGroups; });
}

// {model: a, weight: '1', reasoning: {enabled: true, effort: high}} as a reference to a model.
yaml::Node model_ref(const yaml::Node& assigned) {
  constexpr auto kReasoning = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"enabled", "use_reasoning"}, {"effort", "reasoning_effort"}, {"mode", "reasoning_mode"}});
  yaml::Node out = tree::mapping(assigned.line);
  for (const yaml::Entry& entry : assigned.entries) {
    yaml::Node value = entry.value;
    if (entry.key == "weight") value.quoted = false;  // newer files have the number as a string
    if (entry.key != "reasoning" || value.kind != yaml::Kind::kMapping) {
      tree::add(out, entry.key, std::move(value));
      continue;
    }
    for (const auto& [from, to] : kReasoning) tree::copy(value, from, out, to);
  }
  return out;
}

bool always_matches(const yaml::Node& decision) {
  const yaml::Node* rules = decision.find("rules");
  if (rules == nullptr || rules->entries.empty()) return true;
  const yaml::Node* conditions = rules->find("conditions");
  return ascii::iequals(tree::scalar(*rules, "operator"), "AND") &&
         (conditions == nullptr || conditions->items.empty());
}

class Assignments {
 public:
  Assignments(Reader& reader, yaml::Node& root) : reader_(reader), root_(root) {}

  void write() {
    const yaml::Node& entrypoints = *root_.find("entrypoints");  // only routings change below
    for (size_t i = 0; i < entrypoints.items.size(); ++i) {
      const yaml::Node& entrypoint = entrypoints.items[i];
      const yaml::Node* assignments = entrypoint.find("assignments");
      if (assignments == nullptr || assignments->kind != yaml::Kind::kMapping) continue;
      reader_.at_key(fmt::format("entrypoints[{}].assignments", i), [&] {
        if (given(entrypoint, "recipe") == nullptr)
          return reader_.error(assignments->line,
                               "expected recipe beside it, which has the decisions; rules have no "
                               "assignments");
        write_into(decisions_of(tree::scalar(entrypoint, "recipe")), *assignments);
      });
    }
    if (fallback_.empty()) return;
    const yaml::Node* providers = root_.find("providers");
    const yaml::Node* defaults = providers == nullptr ? nullptr : providers->find("defaults");
    if (defaults != nullptr && defaults->find("model") != nullptr) return;
    tree::put(root_, "providers.defaults.default_model", tree::text(fallback_, root_.line));
  }

 private:
  yaml::Node* decisions_of(std::string_view recipe) {
    yaml::Node* recipes = child(root_, "recipes");
    yaml::Node* holder = named(recipes, recipe);
    if (holder == nullptr && recipe == kDefaultRecipe) holder = &root_;
    yaml::Node* routing = holder == nullptr ? nullptr : child(*holder, "routing");
    return routing == nullptr ? nullptr : child(*routing, "decisions");
  }

  void write_into(yaml::Node* decisions, const yaml::Node& assignments) {
    for (const yaml::Entry& entry : assignments.entries) {
      reader_.at_key(entry.key, [&] {
        yaml::Node* decision = named(decisions, entry.key);
        if (decision == nullptr)
          return reader_.error(entry.line, "the recipe has no decision of this name");
        write_into(*decision, entry);
      });
    }
  }

  void write_into(yaml::Node& decision, const yaml::Entry& assignment) {
    const yaml::Node* models = assignment.value.find("models");
    if (models == nullptr || models->kind != yaml::Kind::kSequence || models->items.empty())
      return reader_.error(assignment.line, "expected models, a list of mappings");
    yaml::Node refs = tree::sequence(models->line);
    for (const yaml::Node& each : models->items) refs.items.push_back(model_ref(each));
    if (fallback_.empty() && always_matches(decision))
      fallback_ = tree::scalar(refs.items.front(), "model");
    if (!tree::add(decision, "modelRefs", std::move(refs)))
      reader_.error(assignment.line,
                    "the decision has models already; expected one place for them, and a recipe of "
                    "its own for each entrypoint that assigns models");
  }

  Reader& reader_;
  yaml::Node& root_;
  std::string fallback_;  // the model of the first decision without conditions
};

}  // namespace

bool has_early_parts(const yaml::Node& root) {
  const auto has_them = [](const yaml::Node& holder) {
    const yaml::Node* routing = holder.find("routing");
    const yaml::Node* keywords = tree::find_path(holder, "routing.signals.keywords");
    const yaml::Node* cards = routing == nullptr ? nullptr : routing->find("modelCards");
    return has_refusing_plugins(holder) ||
           tree::find_path(holder, fmt::format("routing.signals.{}", kGroups)) != nullptr ||
           (keywords != nullptr && std::ranges::any_of(keywords->items, has_empty_keyword)) ||
           (cards != nullptr && std::ranges::any_of(cards->items, [](const yaml::Node& card) {
              return card.find(kFamilyOfCard) != nullptr;
            }));
  };
  const yaml::Node* recipes = root.find("recipes");
  const yaml::Node* models = tree::find_path(root, "providers.models");
  return has_them(root) || default_adapter(root) ||
         (models != nullptr && std::ranges::any_of(models->items, is_own_recipe)) ||
         (recipes != nullptr && std::ranges::any_of(recipes->items, has_them));
}

yaml::Node with_current_parts(Reader& reader, yaml::Node root) {
  yaml::Node* providers = child(root, "providers");
  yaml::Node* models = providers == nullptr ? nullptr : child(*providers, "models");
  const auto change = [&](yaml::Node& holder) {
    if (yaml::Node* routing = child(holder, "routing")) {
      move_families(reader, *routing, models);
      move_groups(*routing);
      replace_empty_keywords(reader, *routing);
    }
    if (!has_refusing_plugins(holder)) return;
    reader.notice(holder.line,
                  "the plugins jailbreak and pii are of older files; each becomes a signal, and a "
                  "decision that refuses what the signal finds");
    migrate_refusing_plugins(reader, holder);
  };
  change(root);
  if (models != nullptr) {
    leave_out_recipes(reader, *models);
    if (const auto adapter = default_adapter(root)) add_default_adapter(reader, *adapter, *models);
  }
  yaml::Node* recipes = child(root, "recipes");
  for (size_t i = 0; recipes != nullptr && i < recipes->items.size(); ++i)
    reader.at_key(fmt::format("recipes[{}]", i), [&] { change(recipes->items[i]); });
  return root;
}

bool assigns_models(const yaml::Node& root) {
  const yaml::Node* entrypoints = root.find("entrypoints");
  return entrypoints != nullptr &&
         std::ranges::any_of(entrypoints->items, [](const yaml::Node& each) {
           return each.find("assignments") != nullptr;
         });
}

yaml::Node with_assigned_models(Reader& reader, yaml::Node root) {
  Assignments(reader, root).write();
  return root;
}

}  // namespace signalbox::config
