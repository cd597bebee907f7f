#pragma once
// The names of signal lists in replies, which are those of routing.signals.

#include <array>
#include <string_view>
#include <utility>

namespace signalbox::admin {

/// Returns "keywords" for "keyword", or the type itself if the configuration has no other name for
/// its signals.
inline std::string_view plural(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames = {{
      {"keyword", "keywords"},
      {"embedding", "embeddings"},
      {"domain", "domains"},
      {"user_feedback", "user_feedbacks"},
      {"preference", "preferences"},
      {"reask", "reasks"},
      {"intent", "intents"},
      {"classifier", "classifiers"},
      {"event", "events"},
      {"projection", "projections"},
  }};
  for (const auto& [one, many] : kNames) {
    if (one == type) return many;
  }
  return type;
}

}  // namespace signalbox::admin
