#pragma once
// The outcome of one request, as plain values that own their data. The log line, the metrics, the
// spans and the replay record are all made from it, so that they agree. It holds no content except
// the two bodies, which are empty unless a configuration requests them.

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

/// One evaluation of the signals of one type.
struct SignalRun {
  std::string type;
  TimePoint began, ended;
  bool failed = false;
};

/// One text's pass through one of the router's own models, including its wait in the queue.
struct ModelPass {
  const void* model = nullptr;  // identifies the model by its address
  std::string name;             // its name in the configuration
  TimePoint began, ended;
  std::string_view error = {};  // name of the error code; "": none
  bool cleared = false;         // only the layers up to the model's screen ran
};

/// The signals of one type that matched.
struct Matches {
  std::string type;
  std::vector<std::string> names;
};

/// Why a request was decided with less information than the configuration requires.
enum class Degraded : uint8_t { kNo, kModelMissing, kOverloaded, kTimeout, kError };
/// "model_missing", "overloaded", "timeout", "error"; "" for kNo.
std::string_view name_of(Degraded degraded);

struct Tokens {
  uint64_t prompt = 0;
  uint64_t cached = 0;  // of the prompt
  uint64_t completion = 0;
  uint64_t written = 0;    // of the prompt, to the server's cache
  uint64_t reasoning = 0;  // of the completion
};

/// The effect of a method of learning on the choice of the model, and its reason. All texts are
/// static.
struct LearningStep {
  std::string_view method, action, reason;
};

/// Facts that a server reported about its reply, as short names. An empty member means that it
/// reported none. See replies::ReplyOrigin.
struct Origin {
  std::string model, id;
  std::vector<std::string> finish_reasons;
  std::string provider;  // of the configuration; set when the account is published
};

/// One call of an algorithm that calls several models.
struct ModelCall {
  std::string model;
  std::string_view purpose;  // static: "answer", "verify", ...
  std::array<uint8_t, 8> span{};
  TimePoint began, ended;
  int status = 0;          // of the reply; 0: none came
  std::string_view error;  // name of the error code; "": none
  std::optional<Tokens> tokens;
  double cost = 0;
  Origin origin;
  std::optional<double> ttft_s, tpot_s;  // of the stream that the client gets
};

/// The result of the response cache for a request.
enum class CacheUse : uint8_t { kNone, kHit, kNear, kMiss, kFailed };
/// "none", "hit" (the same request), "near" (a request with the same meaning), "miss", "error".
std::string_view name_of(CacheUse use);

/// A shadow of a request: the call of another model whose answer the client does not get, and its
/// comparison with the client's.
struct Shadow {
  std::string arm, model;  // whose answer this is
  std::string decision;
  std::string answered_by;  // the model whose answer the client got
  std::array<uint8_t, 8> span{};
  TimePoint began, ended;    // of the call
  std::string_view outcome;  // static; see docs/shadow.md
  std::string_view error;    // name of the error code; "": none
  int status = 0;            // of the reply; 0: none came
  Origin origin;
  std::optional<Tokens> tokens;
  Tokens estimated;      // if the reply did not report its tokens
  double cost = 0;       // of tokens that were reported or estimated
  std::string currency;  // "": the model has no price
  // The client's answer.
  Tokens tokens_of_answer;
  double cost_of_answer = 0;
  std::string currency_of_answer;
  double seconds_of_answer = 0;
  // The comparison.
  bool has_answer = false;  // an answer came that could be read
  std::optional<double> similarity;
  std::optional<bool> agrees;
  bool contradicts = false;
  // For the replay record, to which it is added.
  std::string replay_id;  // "": the request is not recorded
  std::string response;   // "": no texts are recorded
};

struct Account {
  std::string id;
  TraceContext trace;
  std::string_view path;  // path of the API, static: "/v1/chat/completions"
  std::chrono::system_clock::time_point at;
  TimePoint began, ended;

  // Signals and decision. Names come from the configuration. A time that equals `began` means that
  // the request did not get that far.
  TimePoint understood;  // when the plan was complete
  std::vector<SignalRun> signals;
  std::vector<ModelPass> passes;
  std::vector<Matches> matched;
  std::chrono::nanoseconds deciding{0};  // time in the rules alone, summed over all evaluations
  TimePoint rules_began, rules_ended;    // of the last evaluation
  bool decided = false;  // the rules were evaluated, because the client named no model
  Degraded degraded = Degraded::kNo;
  /// The language of a text that a guard does not support (static); "": there was none.
  std::string_view unsupported_language;
  bool language_refused = false;  // the request was refused for that reason

  // The plan.
  std::string model;    // the model that replies; "": none
  std::string backend;  // the server of that model that answered; "": none did, or unknown
  std::string recipe, decision, category, algorithm, selection_method;
  double confidence = 0;
  std::vector<LearningStep> learning;  // empty: learning had no part
  std::string learning_features;       // the request as learning saw it; "": not needed
  std::optional<bool> reasoning;
  std::string_view response_path = "error";
  std::string jailbreak;  // the signal that caused the refusal
  std::vector<std::string> pii_types;
  bool pii = false;  // personal data caused the refusal

  // The plugin context_compression: "whole", "shortened", "over_target", "not_run"; "":
  // unused.
  std::string_view compression;
  uint64_t compression_saved = 0;  // estimated tokens
  // The plugin rag: "added", "nothing", "failed"; "": it does not apply.
  std::string_view rag;
  // The plugin memory: "added", "nothing", "failed", "no_user", "off", "withheld"; "": it does not
  // apply.
  std::string_view memory;
  bool remembered = false;  // the turn was stored

  // The client that spends. These names are in the record of requests, but never in the log.
  std::string key, user, groups;

  // The response cache.
  CacheUse cache = CacheUse::kNone;
  TimePoint cache_began, cache_ended;

  // The reply.
  int status = 0;          // as the client received it; 0: no reply
  std::string_view error;  // a reason from the list in docs/metrics.md; "": none
  std::string detail;      // details of an error in the router or a server, for the log only
  bool stream = false;
  TimePoint sent;                          // when the request was sent upstream
  std::array<uint8_t, 8> upstream_span{};  // the span of the upstream request
  std::optional<double> ttft_s, tpot_s;
  Origin origin;                 // of the reply, if the algorithm called one model
  std::optional<Tokens> tokens;  // of all calls
  double cost = 0;
  std::optional<Tokens> estimated;  // if the reply did not report its tokens
  double cost_on_largest = 0;       // cost of the same tokens on the most expensive model
  std::string currency;             // of both; "": the model has no price
  double cost_on_default = 0;       // cost of the same tokens at the default model's prices
  std::vector<ModelCall> calls;     // empty: the algorithm called one model
  std::string_view used_up;         // the bound that ended the calls early: "calls", ...; "": none
  std::optional<Tokens> repeated;   // tokens of a cached reply, which cost nothing
  // The result of the reply checks: "clean", "found", "unchecked", "unverified"; "": not checked.
  std::string_view grounding, response_jailbreak;
  double guard_s = 0;  // time that the checks took

  // For the replay record.
  std::string replay_id;  // "": the request is not recorded
  std::string request_body, response_body;
  bool request_cut = false, response_cut = false;
  std::chrono::seconds body_age_max{
      0};  // lifetime of the bodies and of the shadows' answers; 0: that of the record

  // Set for an account of the shadow alone, in the trace of its request.
  std::optional<Shadow> shadow;
};

}  // namespace signalbox::observe
