#pragma once
// The outcome of an answer, as a client reports it.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::learning {

enum class Verdict : uint8_t { kGoodFit, kUnderpowered, kOverprovisioned, kFailed };
inline constexpr std::array<std::string_view, 4> kVerdicts{"good_fit", "underpowered",
                                                           "overprovisioned", "failed"};
std::optional<Verdict> verdict_of(std::string_view name);

/// The score of a model about which nothing is known.
inline constexpr double kNeutral = 0.5;

}  // namespace signalbox::learning
