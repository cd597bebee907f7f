#pragma once
// The evidence for a signal's reading, shown in explanations.

#include <cstdint>
#include <string_view>

namespace signalbox::signals {

/// A keyword that occurs, or the nearest example.
struct Evidence {
  uint32_t signal;        // index within its type
  std::string_view text;  // points into the signal type, which outlives the request
  double score;
};

}  // namespace signalbox::signals
