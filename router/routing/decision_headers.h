#pragma once
// Renders a plan: as response headers for the client, and as text for people.

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

inline constexpr std::string_view kSelectedModel = "x-vsr-selected-model";
inline constexpr std::string_view kResponsePath = "x-vsr-response-path";
inline constexpr std::string_view kErrorPath = "error";
inline constexpr std::string_view kCachePath = "cache";
inline constexpr std::string_view kLooperPath = "looper";
inline constexpr std::string_view kOwnModelPath = "own_model";
inline constexpr std::string_view kLimitedPath = "rate_limited";

/// Names as the value of a header: separated by commas, bytes other than printable ASCII encoded.
std::string header_value(const std::vector<std::string>& names);

/// "upstream", "fast_response" or "blocked".
std::string_view path_name(Plan::Path path);

/// Always: x-vsr-schema-version and x-vsr-response-path (upstream, looper, fast_response or
/// blocked). If the plan has them: x-vsr-selected-recipe, -decision, -confidence, -algorithm,
/// -model, -category and -reasoning ("on" or "off"), and x-vsr-failover-from, the models that
/// failed before. A request that goes to a server also gets x-vsr-injected-system-prompt, a fast
/// response x-vsr-fast-response. A blocked request gets the reasons: x-vsr-jailbreak-blocked, -type
/// and -confidence, x-vsr-unsupported-language, x-vsr-pii-violation and -types. If the ranking of
/// tools failed: x-vsr-tools-fallback ("empty" or "unchanged"). With `debug` also, if tools were
/// selected, x-vsr-tools-strategy, -confidence and -tokens-saved, and, for each type with a
/// matching signal, x-vsr-matched-keywords and the like (names of signals, separated by commas).
std::vector<Header> response_headers(const Plan& plan, bool debug);

/// The headers of a request that got no plan. A request that got a plan and then an error, for
/// example because its server is unreachable, keeps the headers of its plan, with the path `error`.
std::vector<Header> error_headers();

/// Describes the plan for people: "Model qwen3, reasoning off, system prompt added", then a line
/// for each model that was left out.
std::string plan_words(const Plan& plan);

/// Writes the models that were left out as the member "left_out" of an object, if there are any.
void write_left_out(const Plan& plan, json::Writer& out);

}  // namespace signalbox::routing
