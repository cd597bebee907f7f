// Most of a migration is a table of blocks and their places in v0.3. Reading the result with v0.3's
// own tables finds the unknown keys inside a moved block, so this file need not list them.

#include "router/config/migrate.h"

#include <algorithm>
#include <array>

#include "base/yaml_tree.h"
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
  const auto say = [&] {
    reader.at_key(entry.key, [&] { reader.notice(entry.line, fmt::format("left out: {}", why)); });
  };
  where.empty() ? say() : reader.at_key(where, say);
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

}  // namespace signalbox::config
