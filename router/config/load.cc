// From a file to a Config: YAML first, then the tables of sections.h.

#include "router/config/load.h"

#include <algorithm>
#include <array>

#include "base/yaml.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// Top-level keys of the format before v0.3; none of them has a meaning in it.
constexpr auto kFlatKeys = std::to_array<std::string_view>(
    {"bert_model", "vllm_endpoints", "model_config", "categories", "classifier", "prompt_guard",
     "semantic_cache", "default_model", "reasoning_families", "default_reasoning_effort",
     "gpu_config", "keyword_rules", "embedding_rules", "decisions", "signals", "tools",
     "observability", "api"});

const yaml::Entry* first_flat_key(const yaml::Node& root) {
  for (const yaml::Entry& entry : root.entries) {
    if (std::find(kFlatKeys.begin(), kFlatKeys.end(), entry.key) != kFlatKeys.end()) return &entry;
  }
  return nullptr;
}

Result<Loaded> read(const yaml::Node& root, std::string_view name, const LoadOptions& options) {
  Reader reader(name, options);
  const yaml::Entry* flat = first_flat_key(root);
  if (root.kind != yaml::Kind::kMapping) {
    reader.error(std::max(root.line, 1u), fmt::format("expected a mapping, found {}", found(root)));
  } else if (flat != nullptr) {
    reader.at_key(flat->key, [&] {
      reader.error(flat->line,
                   "this is the older flat form of the file; expected version v0.3, migration is "
                   "not built yet");
    });
  } else {
    read_section(reader, root, root_section(), reader.config);
  }
  if (reader.failed()) return tl::unexpected<Error>(reader.take_errors());
  reader.config.source = name;
  return Loaded{std::move(reader.config), reader.take_notices()};
}

}  // namespace

Result<Loaded> parse(std::string_view text, std::string_view name, const LoadOptions& options) {
  SIGNALBOX_TRY(const yaml::Node root, yaml::parse(text, name));
  return read(root, name, options);
}

Result<Loaded> load(const std::filesystem::path& path, const LoadOptions& options) {
  SIGNALBOX_TRY(const yaml::Node root, yaml::load(path));
  return read(root, path.string(), options);
}

}  // namespace signalbox::config
