#pragma once
// Qwen3 and Gemma 3 in double precision, for reference(). Shares no code with the engine.

#include "tests/engine/reference.h"

namespace signalbox::engine {

bool is_decoder(const json::Value& config);

/// See reference_shapes().
std::map<std::string, std::vector<int64_t>> decoder_shapes(const json::Value& config);

/// See reference(). Logits stay empty unless the architecture classifies.
ReferenceOutput decoder_reference(const json::Value& config, const Checkpoint& tensors,
                                  const std::vector<int32_t>& ids);

}  // namespace signalbox::engine
