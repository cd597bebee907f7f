#pragma once
// What became of one request, as plain values that own what they hold: the log line, the metrics,
// the spans and the record for replay are all made of this, so that they agree. Nothing of it is
// content but for the two bodies, which are empty unless a configuration asks for them.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/observe/trace_context.h"

namespace signalbox::observe {

using TimePoint = std::chrono::steady_clock::time_point;

inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The signals of one type, read once.
struct SignalRun {
  std::string type;
  TimePoint began, ended;
  bool failed = false;
};

/// One text through one of the router's own models, waiting in its queue included.
struct ModelPass {
  const void* model = nullptr;  // which, by its address
  std::string name;             // as the configuration calls it
  TimePoint began, ended;
  std::string_view error = {};  // name of its code; "": none
};

/// Signals of one type that matched.
struct Matches {
  std::string type;
  std::vector<std::string> names;
};

/// Why a request was decided on less than it should have been.
enum class Degraded : uint8_t { kNo, kModelMissing, kOverloaded, kTimeout, kError };
/// "model_missing", "overloaded", "timeout", "error"; "" for kNo.
std::string_view name_of(Degraded degraded);

struct Tokens {
  uint64_t prompt = 0;
  uint64_t cached = 0;  // of the prompt
  uint64_t completion = 0;
};

/// What the response cache was to a request.
enum class CacheUse : uint8_t { kNone, kHit, kNear, kMiss, kFailed };
/// "none", "hit" (of the same request), "near" (of one that asks the same), "miss", "error".
std::string_view name_of(CacheUse use);

struct Account {
  std::string id;
  TraceContext trace;
  std::string_view path;  // of the API, static: "/v1/chat/completions"
  std::chrono::system_clock::time_point at;
  TimePoint began, ended;

  // What was understood. Names are the configuration's. A time that equals `began` means that it
  // did not come so far.
  TimePoint understood;  // there was a plan
  std::vector<SignalRun> signals;
  std::vector<ModelPass> passes;
  std::vector<Matches> matched;
  std::chrono::nanoseconds deciding{0};  // rules alone, each time that they were asked
  TimePoint rules_began, rules_ended;    // the last time
  bool decided = false;                  // rules were asked: the client named no model
  Degraded degraded = Degraded::kNo;

  // What was planned.
  std::string model;  // that answers; "": none
  std::string recipe, decision, category, algorithm, selection_method;
  double confidence = 0;
  std::optional<bool> reasoning;
  std::string_view response_path = "error";
  std::string jailbreak;  // the signal that refused it
  std::vector<std::string> pii_types;
  bool pii = false;  // personal data refused it

  // The response cache.
  CacheUse cache = CacheUse::kNone;
  TimePoint cache_began, cache_ended;

  // What came back.
  int status = 0;          // as the client got it; 0: nothing
  std::string_view error;  // a reason, as docs/metrics.md lists them; "": none
  std::string detail;      // of an error of the router's or a server's, for the log alone
  bool stream = false;
  TimePoint sent;                          // upstream
  std::array<uint8_t, 8> upstream_span{};  // in whose name
  std::optional<double> ttft_s, tpot_s;
  std::optional<Tokens> tokens;
  double cost = 0;
  double cost_on_default = 0;      // of the same tokens at the default model's prices
  std::optional<Tokens> repeated;  // of an answer that was given before: nobody has paid for them
  // What became of looking at it: "clean", "found", "unchecked", "unverified"; "": it was not.
  std::string_view grounding, response_jailbreak;
  double guard_s = 0;  // that looking took

  // For replay.
  std::string replay_id;  // "": it is not recorded
  std::string request_body, response_body;
  bool request_cut = false, response_cut = false;
};

}  // namespace signalbox::observe
