#pragma once
// Writes families in Prometheus' text format, version 0.0.4, for a scrape.

#include <span>
#include <string>
#include <string_view>

#include "router/observe/instruments.h"

namespace signalbox::observe {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

/// Leaves out families without series. In label values, bytes that are not valid UTF-8 become
/// U+FFFD. Thread-safe.
std::string expose(std::span<const FamilyBase* const> families);

}  // namespace signalbox::observe
