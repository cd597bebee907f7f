// A request has no span for a stage that it did not reach.

#include "router/observe/spans.h"

#include <algorithm>

#include "router/observe/operations.h"

namespace signalbox::observe {
namespace {

constexpr std::string_view kPrefix = "semantic_router.";

class Spans {
 public:
  explicit Spans(const Account& account) : account_(account) {}

  Span& add(std::string_view name, const std::array<uint8_t, 8>& parent, TimePoint began,
            TimePoint ended) {
    Span span;
    span.name = std::string(kPrefix).append(name);
    span.id = new_span_id();
    span.parent = parent;
    span.began_ns = nanoseconds(began);
    span.ended_ns = nanoseconds(ended);
    spans_.push_back(std::move(span));
    return spans_.back();
  }

  std::vector<Span> take() { return std::move(spans_); }

 private:
  uint64_t nanoseconds(TimePoint at) const {
    const auto wall = account_.at + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                        at - account_.began);
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(wall.time_since_epoch()).count());
  }

  const Account& account_;
  std::vector<Span> spans_;
};

double ms_between(TimePoint from, TimePoint to) {
  return seconds_between(from, to) * 1000;
}

void add_root(const Account& a, Spans& spans) {
  Span& root = spans.add("request.received", a.trace.parent, a.began, a.ended);
  root.id = a.trace.span;
  root.kind = Span::Kind::kServer;
  root.attributes = {{"request.id", a.id},
                     {"http.method", std::string("POST")},
                     {"http.path", std::string(a.path)},
                     {"http.status_code", int64_t{a.status}},
                     {"response.path", std::string(a.response_path)}};
  if (!a.model.empty()) root.attributes.emplace_back("model.name", a.model);
  if (a.degraded != Degraded::kNo)
    root.attributes.emplace_back("routing.degraded", std::string(name_of(a.degraded)));
  if (!a.unsupported_language.empty())
    root.attributes.emplace_back("guard.unsupported_language", std::string(a.unsupported_language));
  root.error = a.error;
}

void add_signals(const Account& a, Spans& spans) {
  if (a.signals.empty()) return;
  TimePoint first = a.signals.front().began, last = first;
  for (const SignalRun& run : a.signals) {
    first = std::min(first, run.began);
    last = std::max(last, run.ended);
  }
  const auto parent = spans.add("signal.evaluation", a.trace.span, first, last).id;
  for (const SignalRun& run : a.signals) {
    Span& span = spans.add("signal." + run.type, parent, run.began, run.ended);
    const auto matched =
        std::find_if(a.matched.begin(), a.matched.end(),
                     [&](const Matches& matches) { return matches.type == run.type; });
    if (matched != a.matched.end())
      span.attributes.emplace_back("signal.matched_rules", matched->names);
    span.attributes.emplace_back("signal.latency_ms", ms_between(run.began, run.ended));
    if (run.failed) span.error = "signal_failed";
  }
  for (const ModelPass& pass : a.passes) {
    Span& span = spans.add("classification", parent, pass.began, pass.ended);
    if (!pass.name.empty()) span.attributes.emplace_back("model.name", pass.name);
    span.error = pass.error;
  }
}

void add_decision(const Account& a, Spans& spans) {
  if (a.decided) {
    Span& rules = spans.add("decision.evaluation", a.trace.span, a.rules_began, a.rules_ended);
    rules.attributes = {{"decision.name", a.decision},
                        {"decision.confidence", a.confidence},
                        {"decision.recipe", a.recipe}};
    std::vector<std::string> matched;
    for (const Matches& matches : a.matched) {
      for (const std::string& name : matches.names) matched.push_back(matches.type + ":" + name);
    }
    rules.attributes.emplace_back("decision.matched_rules", std::move(matched));
  }
  if (a.understood == a.began) return;
  Span& routing = spans.add("routing.decision", a.trace.span, a.began, a.understood);
  routing.attributes = {{"routing.selected_model", a.model},
                        {"routing.algorithm", a.algorithm},
                        {"routing.reason", a.selection_method}};
  if (a.reasoning) routing.attributes.emplace_back("model.reasoning_enabled", *a.reasoning);
}

void add_cache(const Account& a, Spans& spans) {
  if (a.cache == CacheUse::kNone) return;
  Span& lookup = spans.add("cache.lookup", a.trace.span, a.cache_began, a.cache_ended);
  const bool hit = a.cache == CacheUse::kHit || a.cache == CacheUse::kNear;
  lookup.attributes = {{"cache.hit", hit},
                       {"cache.result", std::string(name_of(a.cache))},
                       {"cache.lookup_time_ms", ms_between(a.cache_began, a.cache_ended)}};
}

/// Describes a call to a model in the vLLM Semantic Router's names and in those of OpenTelemetry's
/// semantic conventions for generative AI.
void describe_call(const Account& a, const std::string& model, const Origin& origin, int status,
                   const std::optional<Tokens>& tokens, std::string_view error, Span& span) {
  span.kind = Span::Kind::kClient;
  span.error = error;
  const auto add = [&span](const char* name, auto value) {
    span.attributes.emplace_back(name, std::move(value));
  };
  add("model.name", model);
  add("http.status_code", int64_t{status});
  if (const auto operation = operation_of(a.path); !operation.empty())
    add("gen_ai.operation.name", std::string(operation));
  add("gen_ai.request.model", model);
  if (!origin.provider.empty()) add("gen_ai.provider.name", origin.provider);
  if (!origin.model.empty()) add("gen_ai.response.model", origin.model);
  if (!origin.id.empty()) add("gen_ai.response.id", origin.id);
  if (!origin.finish_reasons.empty()) add("gen_ai.response.finish_reasons", origin.finish_reasons);
  if (!error.empty()) add("error.type", std::string(error));
  if (!tokens) return;
  const auto prompt = static_cast<int64_t>(tokens->prompt);
  const auto completion = static_cast<int64_t>(tokens->completion);
  add("model.prompt_tokens", prompt);
  add("model.completion_tokens", completion);
  add("gen_ai.usage.input_tokens", prompt);
  add("gen_ai.usage.output_tokens", completion);
}

void add_calls(const Account& a, Spans& spans) {
  TimePoint first = a.calls.front().began, last = first;
  for (const ModelCall& call : a.calls) {
    first = std::min(first, call.began);
    last = std::max(last, call.ended);
  }
  Span& run = spans.add("looper.execute", a.trace.span, first, last);
  run.attributes = {{"routing.algorithm", a.algorithm},
                    {"looper.calls", static_cast<int64_t>(a.calls.size())}};
  if (!a.used_up.empty()) run.attributes.emplace_back("looper.used_up", std::string(a.used_up));
  const auto parent = run.id;
  for (const ModelCall& call : a.calls) {
    Span& span = spans.add("upstream.request", parent, call.began, call.ended);
    span.id = call.span;
    describe_call(a, call.model, call.origin, call.status, call.tokens, call.error, span);
    span.attributes.emplace_back("looper.purpose", std::string(call.purpose));
  }
}

void add_upstream(const Account& a, Spans& spans) {
  if (!a.calls.empty()) return add_calls(a, spans);
  if (a.sent == a.began) return;
  Span& upstream = spans.add("upstream.request", a.trace.span, a.sent, a.ended);
  upstream.id = a.upstream_span;
  describe_call(a, a.model, a.origin, a.status, a.tokens, a.error, upstream);
  if (a.ttft_s) upstream.attributes.emplace_back("model.ttft_ms", *a.ttft_s * 1000);
}

void add_shadow(const Account& a, const Shadow& shadow, Spans& spans) {
  Span& span = spans.add("shadow.request", a.trace.span, shadow.began, shadow.ended);
  span.id = shadow.span;
  describe_call(a, shadow.model, shadow.origin, shadow.status, shadow.tokens, shadow.error, span);
  span.attributes.emplace_back("shadow.arm", shadow.arm);
  span.attributes.emplace_back("shadow.outcome", std::string(shadow.outcome));
  if (shadow.similarity) span.attributes.emplace_back("shadow.similarity", *shadow.similarity);
}

}  // namespace

std::vector<Span> spans_of(const Account& account) {
  Spans spans(account);
  if (account.shadow) {
    add_shadow(account, *account.shadow, spans);
    return spans.take();
  }
  add_root(account, spans);
  add_signals(account, spans);
  add_decision(account, spans);
  add_cache(account, spans);
  add_upstream(account, spans);
  return spans.take();
}

}  // namespace signalbox::observe
