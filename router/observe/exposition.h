#pragma once
// What a scrape gets: families in Prometheus' text format, version 0.0.4.

#include <span>
#include <string>
#include <string_view>

#include "router/observe/instruments.h"

namespace signalbox::observe {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

/// Families without a series are left out. Label values that are not UTF-8 have other bytes
/// replaced by U+FFFD. Thread-safe.
std::string expose(std::span<const FamilyBase* const> families);

}  // namespace signalbox::observe
