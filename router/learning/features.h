#pragma once
// A request as a short vector, so that learning can distinguish requests of one decision. It holds
// sizes, flags and the signals that matched, but no text of the request.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "router/request/chat_request.h"

namespace signalbox::learning {

/// Each feature is a number of steps, from 0 to kSteps, and stands for a share of 1.
struct Features {
  enum Feature : uint8_t {
    kConstant,  // always 1
    kLength,    // of the user's text: 0 below 64 bytes, 1 from 64 KiB, by its logarithm
    kEarlier,   // the length of the conversation before this turn, in the same way
    kTurn,      // earlier messages of the user: one step each
    kTools,     // the client offers some
    kImages,    // the request has some
    kSignals,   // from here on, places for signals: 1 if one of them matched
  };
  static constexpr size_t kSignalPlaces = 18;
  static constexpr size_t kSize = kSignals + kSignalPlaces;
  static constexpr uint8_t kSteps = 8;

  std::array<uint8_t, kSize> steps = {kSteps};

  /// Marks the signal's place, which depends on its type and name alone: features mean the same
  /// after a restart, at another router, and with other signals in the file. Signals may share one.
  void add_signal(std::string_view type, std::string_view name);

  double share(size_t feature) const { return static_cast<double>(steps[feature]) / kSteps; }
  /// "length", or "signals_7" for a place.
  static std::string name_of(size_t feature);

  /// The version of the form and its meaning, a colon, and a digit for each feature.
  std::string text() const;
  /// Nullopt for anything that text() does not write.
  static std::optional<Features> read(std::string_view text);
};

/// The features without signals. `earlier_bytes` is the size of the conversation before this turn.
Features features_of(const request::ChatRequest& request, size_t earlier_bytes);

}  // namespace signalbox::learning
