#pragma once
// A plan told to others: to the client as response headers, to people in a line.

#include <string>
#include <string_view>
#include <vector>

#include "router/router.h"

namespace signalbox::router {

struct Header {
  std::string_view name;  // lower case, static
  std::string value;      // printable ASCII; other bytes of configured names are percent-encoded
};

/// Always: x-vsr-selected-model and x-vsr-injected-system-prompt; x-vsr-selected-decision,
/// -category and -reasoning
/// ("on" or "off") where the plan has them. With `debug` also x-vsr-selected-confidence and, where
/// something matched, x-vsr-matched-keywords and the like (names of signals, comma-separated).
std::vector<Header> response_headers(const Plan& plan, bool debug);

/// The plan in a line for people: "Model qwen3, reasoning off, system prompt added".
std::string plan_words(const Plan& plan);

}  // namespace signalbox::router
