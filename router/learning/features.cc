// Small integers keep the sums of a regression exact, here and in the scripts of a store.

#include "router/learning/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fnv.h"

namespace signalbox::learning {
namespace {

/// Changes with the meaning of any feature.
constexpr std::string_view kVersion = "1:";
constexpr double kBytesLeast = 64;
constexpr double kStepsPerDoubling = 0.8;  // 64 KiB are ten doublings of 64 bytes

uint8_t steps_of_bytes(size_t bytes) {
  if (static_cast<double>(bytes) < kBytesLeast) return 0;
  const double doublings = std::log2(static_cast<double>(bytes) / kBytesLeast);
  return static_cast<uint8_t>(
      std::min(std::floor(doublings * kStepsPerDoubling), double{Features::kSteps}));
}

// The mixer is the finaliser of MurmurHash3.
uint64_t digest(std::string_view type, std::string_view name) {
  Fnv hash;
  for (const std::string_view part : {type, std::string_view(":"), name}) {
    for (const char c : part) hash.add(static_cast<uint8_t>(c));
  }
  uint64_t out = hash.get();
  out = (out ^ (out >> 33)) * 0xff51afd7ed558ccd;
  out = (out ^ (out >> 33)) * 0xc4ceb9fe1a85ec53;
  return out ^ (out >> 33);
}

}  // namespace

void Features::add_signal(std::string_view type, std::string_view name) {
  steps[kSignals + digest(type, name) % kSignalPlaces] = kSteps;
}

std::string Features::name_of(size_t feature) {
  constexpr std::array<std::string_view, kSignals> kNames{"constant", "length", "earlier",
                                                          "turn",     "tools",  "images"};
  if (feature < kSignals) return std::string(kNames[feature]);
  return fmt::format("signals_{}", feature - kSignals + 1);
}

std::string Features::text() const {
  std::string out(kVersion);
  for (const uint8_t each : steps) out.push_back(static_cast<char>('0' + each));
  return out;
}

std::optional<Features> Features::read(std::string_view text) {
  if (!text.starts_with(kVersion) || text.size() != kVersion.size() + kSize) return std::nullopt;
  Features out;
  for (size_t i = 0; i < kSize; ++i) {
    const char digit = text[kVersion.size() + i];
    if (digit < '0' || digit > '0' + kSteps) return std::nullopt;
    out.steps[i] = static_cast<uint8_t>(digit - '0');
  }
  if (out.steps[kConstant] != kSteps) return std::nullopt;
  return out;
}

Features features_of(const request::ChatRequest& request, size_t earlier_bytes) {
  Features out;
  out.steps[Features::kLength] = steps_of_bytes(request.user_text().size());
  out.steps[Features::kEarlier] = steps_of_bytes(earlier_bytes);
  size_t turns = 0;
  uint32_t images = 0;
  for (const request::ChatMessage& message : request.messages) {
    if (message.role == "user") ++turns;
    images += message.images;
  }
  out.steps[Features::kTurn] =
      static_cast<uint8_t>(std::min<size_t>(turns > 0 ? turns - 1 : 0, Features::kSteps));
  out.steps[Features::kTools] = request.tools > 0 ? Features::kSteps : 0;
  out.steps[Features::kImages] = images > 0 ? Features::kSteps : 0;
  return out;
}

}  // namespace signalbox::learning
