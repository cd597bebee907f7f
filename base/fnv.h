#pragma once
// FNV-1a, a hash that is the same on every machine.

#include <cstdint>

namespace signalbox {

/// Mixes short inputs poorly, so callers that use only some bits of the result mix it again.
class Fnv {
 public:
  void add(uint64_t value) { state_ = (state_ ^ value) * 0x100000001B3u; }
  uint64_t get() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

}  // namespace signalbox
