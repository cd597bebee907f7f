#pragma once
// The two parts of a migration that are more than moving blocks.

#include "base/yaml.h"
#include "router/config/reader.h"

namespace signalbox::config {

/// `vllm_endpoints`, `provider_profiles` and `model_config` of `old`, and the models of the command
/// line tool: to `providers.models` and `routing.modelCards` of `out`, which has its decisions
/// already.
void migrate_models(Reader& reader, const yaml::Node& old, yaml::Node& out);

/// `categories` of `old`: to domains and, in a file without decisions, a decision each; its
/// `prompt_guard` to a decision that refuses. Plugins for jailbreaks and personal data in decisions
/// become signals and decisions that refuse.
void migrate_decisions(Reader& reader, const yaml::Node& old, yaml::Node& out);

/// Says that a key of the older file is left out.
void left_out(Reader& reader, const yaml::Entry& entry, std::string_view where,
              std::string_view why = "it has no counterpart in v0.3");

}  // namespace signalbox::config
