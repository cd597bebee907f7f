#pragma once
// Migrates the forms before v0.3 to v0.3, as a tree: the flat files of 2025 (bert_model,
// vllm_endpoints, categories with model_scores, ...), the flat files of 2026-01 with signals and
// decisions (keyword_rules, decisions, ...), and the files of the command line tool, `version:
// v0.1`.

#include "base/yaml.h"
#include "router/config/reader.h"

namespace signalbox::config {

/// True if a file has one of those forms.
bool is_older_form(const yaml::Node& root);

/// The same file in v0.3, with keys of v0.3 only. Keys without a counterpart are left out with a
/// notice to `reader`. Nodes keep the lines of the older file. Preconditions: is_older_form(root),
/// and the path of `reader` is empty.
yaml::Node migrate(Reader& reader, const yaml::Node& root);

/// True if a v0.3 file has parts that only the first files of v0.3 had: `reasoning_family_ref` of a
/// card, or a decision with the plugin jailbreak or pii.
bool has_early_parts(const yaml::Node& root);

/// The file with the family of each model, and with a signal and a decision that refuses for each
/// of those plugins.
yaml::Node with_current_parts(Reader& reader, yaml::Node root);

/// True if an entrypoint of the file assigns models to the decisions of its recipe.
bool assigns_models(const yaml::Node& root);

/// The file with these models as `modelRefs`. A file without a default model gets the first one of
/// the first decision without conditions. Assignments that cannot be kept are errors.
yaml::Node with_assigned_models(Reader& reader, yaml::Node root);

// --- parts of migrate() that do more than move blocks ---

/// Converts `vllm_endpoints`, `provider_profiles` and `model_config` of `old`, and the models of
/// the command line tool, to `providers.models` and `routing.modelCards` of `out`. Precondition:
/// `out` has its decisions already.
void migrate_models(Reader& reader, const yaml::Node& old, yaml::Node& out);

/// Converts `categories` of `old` to domains and, in a file without decisions, to one decision
/// each; its `prompt_guard` to a decision that refuses; and the plugins jailbreak and pii of
/// decisions to signals and decisions that refuse.
void migrate_decisions(Reader& reader, const yaml::Node& old, yaml::Node& out);

/// True if a decision below `holder`, the file or a recipe, has the plugin jailbreak or pii.
bool has_refusing_plugins(const yaml::Node& holder);
/// Converts these plugins in place, as migrate_decisions() does.
void migrate_refusing_plugins(Reader& reader, yaml::Node& holder);

/// Gives a notice that a key of the older file is left out.
void left_out(Reader& reader, const yaml::Entry& entry, std::string_view where,
              std::string_view why = "it has no counterpart in v0.3");

}  // namespace signalbox::config
