#pragma once
// The reason for a signal's reading, which explanations show.

#include <cstdint>
#include <string_view>

namespace signalbox::signals {

/// Why a signal reads as it does: a keyword that occurs, or the nearest example.
struct Evidence {
  uint32_t signal;        // index within its type
  std::string_view text;  // points into the signal type, which outlives the request
  double score;
};

}  // namespace signalbox::signals
