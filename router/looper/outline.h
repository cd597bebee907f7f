#pragma once
// The calls of an algorithm before any is made, for people who want to know what a request costs.

#include <span>
#include <string>
#include <vector>

#include "router/config/services.h"
#include "router/looper/looper.h"

namespace signalbox::looper {

struct OutlinedCall {
  size_t step;  // from 1; calls of one step run side by side
  std::string model;
  Purpose purpose;
  std::string label;  // of the call; "": none
};

/// Returns the calls of a run in which every call succeeds and no reply ends it early, in their
/// order and at most `calls_max`: the most that a request needs unless calls fail.
std::vector<OutlinedCall> outline(const Algorithm& algorithm, size_t calls_max);

/// The same for the decision's algorithm, with its bound on calls or that of the configuration.
std::vector<OutlinedCall> outline(const config::Decision& decision, std::span<const Voice> voices,
                                  const config::Looper& looper);

}  // namespace signalbox::looper
