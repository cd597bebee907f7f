#pragma once
// From the forms before v0.3 to v0.3, as a tree: the flat files of 2025 (bert_model,
// vllm_endpoints, categories with model_scores, ...), the flat signal-decision files of 2026-01
// (keyword_rules, decisions, ...) and the files of the command line tool, `version: v0.1`.

#include "base/yaml.h"
#include "router/config/reader.h"

namespace signalbox::config {

/// Whether a file has one of those forms.
bool is_older_form(const yaml::Node& root);

/// The same file in v0.3; every key in it is one of v0.3. What has no counterpart there is left out
/// with a notice to `reader`, whose path must be empty. Nodes keep the lines of the older file.
/// Precondition: is_older_form(root).
yaml::Node migrate(Reader& reader, const yaml::Node& root);

}  // namespace signalbox::config
