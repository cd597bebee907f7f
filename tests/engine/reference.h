#pragma once
// The engine's networks in double precision, built from their configuration and not optimised for
// speed. Shares no code with the engine.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

struct ReferenceOutput {
  std::vector<double> hidden;  // (tokens, hidden)
  std::vector<double> logits;  // (classes) or (tokens, classes); empty without a head
};

/// Returns the shape of every tensor required by a config.json, by name. Norms can be recognised by
/// the ends of their names ("norm.weight", "LayerNorm.weight").
std::map<std::string, std::vector<int64_t>> reference_shapes(const json::Value& config);

/// `config` is the root of a config.json of model_type bert, roberta, deberta-v2, modernbert,
/// qwen3 or gemma3_text. Tensors missing in the checkpoint are biases that the configuration turned off.
ReferenceOutput reference(const json::Value& config, const Checkpoint& tensors,
                          const std::vector<int32_t>& ids);

}  // namespace signalbox::engine
