#pragma once
// DeBERTa-v2 in double precision, for reference(). Shares no code with the engine.

#include "tests/engine/reference.h"

namespace signalbox::engine {

bool is_deberta(const json::Value& config);

/// See reference_shapes().
std::map<std::string, std::vector<int64_t>> deberta_shapes(const json::Value& config);

/// See reference(). All tokens have the first segment type.
ReferenceOutput deberta_reference(const json::Value& config, const Checkpoint& tensors,
                                  const std::vector<int32_t>& ids);

}  // namespace signalbox::engine
