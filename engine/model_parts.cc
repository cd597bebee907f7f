// The trunk comes first, because everything else is checked against its shape.

#include "engine/model_parts.h"

#include <map>
#include <optional>

#include "engine/model_path.h"
#include "engine/model_tokenizer.h"
#include "engine/precision.h"
#include "weights/hf_config.h"

namespace signalbox::engine {
namespace {

Result<void> read_head(const std::filesystem::path& directory, const weights::HfConfig& config,
                       const weights::SafeTensors& file, ModelParts& parts,
                       weights::LoraUse* adapter = nullptr, int32_t owner = kNoAdapter) {
  SIGNALBOX_TRY(auto head,
                Head::open(directory, config, file, *parts.kernels, parts.trunk->shape(), adapter));
  if (!head) return {};
  parts.heads.push_back(*std::move(head));
  parts.owners.push_back(owner);
  return {};
}

// Reads the trunk and its head, with the adapter merged into both.
Result<void> read_network(const weights::HfConfig& config, const OpenOptions& options,
                          ModelParts& parts, std::vector<LinearSpec>& linears) {
  TrunkOptions trunk{.kernels = *parts.kernels, .format = format_of(options.precision)};
  trunk.linears = &linears;
  std::optional<weights::LoraUse> use;
  if (!options.adapter.empty()) {
    SIGNALBOX_TRY(auto adapter, weights::LoraAdapter::open(options.adapter));
    parts.adapter = std::make_unique<const weights::LoraAdapter>(std::move(adapter));
    use.emplace(*parts.adapter);
    trunk.merge = &*use;
  }
  SIGNALBOX_TRY(parts.trunk, open_trunk(config, parts.file, trunk));
  const auto& directory = use ? options.adapter : parts.directory;
  SIGNALBOX_TRY_VOID(read_head(directory, config, parts.file, parts, trunk.merge));
  return use ? use->complete() : Result<void>();
}

// Reads a directory of OpenOptions::adapters.
Result<void> read_adapter(const std::filesystem::path& directory, const weights::HfConfig& config,
                          std::span<const LinearSpec> linears, ModelParts& parts) {
  SIGNALBOX_TRY(const auto files, weights::LoraAdapter::open(directory));
  weights::LoraUse use(files);
  SIGNALBOX_TRY(Adapter adapter, Adapter::open(use, linears, *parts.kernels));
  const auto number = static_cast<int32_t>(parts.adapters.size());
  parts.adapters.push_back(std::move(adapter));
  SIGNALBOX_TRY_VOID(read_head(directory, config, parts.file, parts, &use, number));
  const auto complete = use.complete();
  if (complete) return {};
  return fail(complete.error().code,
              "{} (an adapter that shares a trunk can only have low-rank layers and a head; merge "
              "this adapter instead)",
              complete.error().message);
}

// Requires at most one screen for each adapter, because callers report the score of one.
Result<void> check_screens(const ModelParts& parts) {
  std::map<int32_t, const HeadInfo*> screens;  // by adapter
  for (size_t h = 0; h < parts.heads.size(); ++h) {
    const HeadInfo& info = parts.heads[h].info();
    if (info.clears_below == 0) continue;
    const auto [other, is_first] = screens.try_emplace(parts.owners[h], &info);
    if (is_first) continue;
    return fail(Code::kUnsupported,
                "{}: the heads {} and {} both have classifier_clears_below, expected one at most",
                parts.directory.string(), other->second->name, info.name);
  }
  return {};
}

// Reads a directory of OpenOptions::heads.
Result<void> read_further_head(const std::filesystem::path& directory, ModelParts& parts) {
  const size_t before = parts.heads.size();
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(const auto file, weights::SafeTensors::open_directory(directory));
  SIGNALBOX_TRY_VOID(read_head(directory, config, file, parts));
  if (parts.heads.size() != before) return {};
  return fail(Code::kCorrupt, "{}: does not name an architecture with a head",
              config.root().where("architectures"));
}

// Reads the steps from hidden states to an embedding, and the limit per text. The last token of a
// causal network is the only one that has seen the whole text.
Result<void> read_embedding(ModelParts& parts) {
  const TrunkShape& shape = parts.trunk->shape();
  SIGNALBOX_TRY(parts.pooling, read_pooling_config(parts.directory, shape.hidden,
                                                   shape.causal ? Pooling::kLast : Pooling::kMean));
  parts.tokens_max = parts.pooling.tokens_max;
  if (parts.tokens_max == 0 && parts.tokenizer != nullptr)
    parts.tokens_max = parts.tokenizer->tokens_max();
  SIGNALBOX_TRY(parts.dense_layers,
                DenseLayers::open(parts.pooling.dense, shape.hidden, *parts.kernels));
  return {};
}

}  // namespace

Result<ModelParts> read_model_parts(const std::filesystem::path& directory,
                                    const OpenOptions& options) {
  if (!options.adapter.empty() && !options.adapters.empty()) {
    return fail(
        Code::kInvalid,
        "an adapter to merge and {} adapters that share the trunk; only one of the two is allowed",
        options.adapters.size());
  }
  ModelParts parts;
  parts.directory = directory;
  SIGNALBOX_TRY(parts.kernels, kernels::active_table());
  SIGNALBOX_TRY(const auto config, weights::HfConfig::open(directory / "config.json"));
  SIGNALBOX_TRY(parts.file, weights::SafeTensors::open_directory(directory));
  std::vector<LinearSpec> linears;
  SIGNALBOX_TRY_VOID(read_network(config, options, parts, linears));
  SIGNALBOX_TRY(parts.tokenizer, open_tokenizer(directory, parts.trunk->shape()));
  SIGNALBOX_TRY_VOID(read_embedding(parts));
  const auto& base = options.adapter.empty() ? directory : options.adapter;
  for (const auto& head : options.heads) {
    SIGNALBOX_TRY_VOID(check_head(head, base));
    SIGNALBOX_TRY_VOID(read_further_head(head, parts));
  }
  for (const auto& adapter : options.adapters)
    SIGNALBOX_TRY_VOID(read_adapter(adapter, config, linears, parts));
  SIGNALBOX_TRY_VOID(check_screens(parts));
  return parts;
}

}  // namespace signalbox::engine
