#pragma once
// Options of configurations that have a single supported value. Another value would change the
// result, so it is rejected by name instead of ignored.

#include <string_view>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// Requires that a key is `only`, or missing if that means `only` too. kUnsupported.
Result<void> require(const weights::HfObject& config, std::string_view key, std::string_view only);

/// Requires that a key is false or missing. kUnsupported.
Result<void> refuse(const weights::HfObject& config, std::string_view key);

/// Requires that `hidden` is a multiple of `heads`. kCorrupt.
Result<void> check_heads(const weights::HfObject& config, std::string_view hidden_key,
                         int32_t hidden, std::string_view heads_key, int32_t heads);

/// Reads an epsilon of norms.
Result<float> read_eps(const weights::HfObject& config, std::string_view key, double fallback);

}  // namespace signalbox::engine
