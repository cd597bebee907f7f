#pragma once
// The networks that the engine runs, from their configuration's own keys, in double precision and
// without a thought for speed. It shares no code with the engine.

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

/// Shapes of every tensor that a config.json asks for, by name; norms are among them by their
/// names' endings ("norm.weight", "LayerNorm.weight").
std::map<std::string, std::vector<int64_t>> reference_shapes(const json::Value& config);

/// `config` is the root of a config.json of model_type bert, roberta or modernbert. Tensors that
/// the checkpoint lacks are biases that the configuration switched off.
ReferenceOutput reference(const json::Value& config, const Checkpoint& tensors,
                          const std::vector<int32_t>& ids);

}  // namespace signalbox::engine
