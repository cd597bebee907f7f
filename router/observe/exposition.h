#pragma once
// Writes families in Prometheus' text format, version 0.0.4, for a scrape.

#include <span>
#include <string>
#include <string_view>

#include "router/observe/instruments.h"

namespace signalbox::observe {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

std::string expose(std::span<const Reading> readings);

}  // namespace signalbox::observe
