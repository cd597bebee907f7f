#pragma once
// A plan told to others: to the client as response headers, to people in a line.

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "router/routing/router.h"

namespace signalbox::routing {

struct Header {
  std::string_view name;  // lower case, static
  std::string value;      // printable ASCII; other bytes of configured names are percent-encoded
};

inline constexpr std::string_view kResponsePath = "x-vsr-response-path";
inline constexpr std::string_view kErrorPath = "error";
inline constexpr std::string_view kCachePath = "cache";
inline constexpr std::string_view kLimitedPath = "rate_limited";

/// "upstream", "fast_response" or "blocked".
std::string_view path_name(Plan::Path path);

/// Always: x-vsr-schema-version and x-vsr-response-path (upstream, fast_response or blocked). Where
/// the plan has them: x-vsr-selected-recipe, -decision, -confidence, -algorithm, -model, -category
/// and -reasoning ("on" or "off"); x-vsr-failover-from, the models that were asked in vain before.
/// Towards a server also x-vsr-injected-system-prompt, without one x-vsr-fast-response. Of what
/// stopped a request: x-vsr-jailbreak-blocked, -type and -confidence, x-vsr-pii-violation and
/// -types. Where tools should have been ranked and were not: x-vsr-tools-fallback ("empty" or
/// "unchanged"). With `debug` also, where tools were chosen, x-vsr-tools-strategy, -confidence and
/// -tokens-saved, and where something matched, x-vsr-matched-keywords and the like (names of
/// signals, comma-separated).
std::vector<Header> response_headers(const Plan& plan, bool debug);

/// The same for a request that got no plan; one that got a plan and then an error, as when its
/// server cannot be reached, keeps the plan's with the path `error`.
std::vector<Header> error_headers();

/// The plan for people: "Model qwen3, reasoning off, system prompt added", and a line for each
/// model that was left out.
std::string plan_words(const Plan& plan);

/// The models that were left out as the member "left_out" of an object; nothing without any.
void write_left_out(const Plan& plan, json::Writer& out);

}  // namespace signalbox::routing
