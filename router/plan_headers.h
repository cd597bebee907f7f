#pragma once
// A plan as response headers: what the client is told about the route that its request took.

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
/// something matched, x-vsr-matched-keywords and x-vsr-matched-embeddings (names of signals,
/// comma-separated).
std::vector<Header> response_headers(const Plan& plan, bool debug);

}  // namespace signalbox::router
