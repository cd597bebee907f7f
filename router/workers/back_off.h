#pragma once
// The wait before a further attempt. Pure: the random number is a parameter.

#include <chrono>
#include <cstdint>
#include <optional>

#include "router/config/providers.h"

namespace signalbox::workers {

/// The wait before the `retry`th further attempt, from 1. `draw` is from 0 to 1, and `demanded` the
/// server's Retry-After.
std::chrono::milliseconds back_off(const config::Reliability& settings, uint32_t retry, double draw,
                                   std::optional<std::chrono::seconds> demanded);

}  // namespace signalbox::workers
