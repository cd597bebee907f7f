#pragma once
// Time limits of the configuration.

#include <chrono>
#include <cstdint>

namespace signalbox::stores {

/// Sets `into`, unless `seconds` is 0, which stands for a missing key.
inline void set_seconds(uint32_t seconds, std::chrono::milliseconds& into) {
  if (seconds != 0) into = std::chrono::seconds(seconds);
}

}  // namespace signalbox::stores
