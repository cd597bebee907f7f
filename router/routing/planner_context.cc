// The plugin context_compression in both steps of the planner. The first step shortens both forms
// of the request, off the event loops, because long texts take milliseconds and the form that is
// sent depends on the model.

#include <algorithm>

#include "router/plugins/tools/tools.h"
#include "router/routing/demands.h"
#include "router/routing/planner.h"

namespace signalbox::routing {

bool Planner::strips_tools(const PlanTarget& target) {
  return target.decision != nullptr && plugins::strips_tools(*target.decision);
}

bool Planner::compresses(const PlanTarget& target) {
  const config::Decision* decision = target.decision;
  return decision != nullptr && !decision->fast_response && decision->context_compression &&
         decision->context_compression->enabled && !strips_tools(target);
}

// The model is not chosen yet, so the smallest window among the candidates is the bound.
void Planner::compress(const PlanTarget& target, const signals::Inputs& inputs,
                       ModelResults& results) const {
  const config::ContextCompressionPlugin& plugin = *target.decision->context_compression;
  const request::ChatRequest& request = inputs.request();
  plugins::ContextRoom room;
  for (const selection::Candidate& each : candidates(target)) {
    const uint64_t window = each.card == nullptr ? 0 : each.card->context_window_size;
    if (window > 0 && (room.window_tokens == 0 || window < room.window_tokens))
      room.window_tokens = window;
  }
  room.reply_tokens = demands_of(request).reply_tokens;
  const std::string_view control = inputs.header(plugins::control_header(plugin)).value_or("");
  const auto shorten = [&](const json::Document& document, std::optional<request::Api> api) {
    return plugins::compress_context(plugin, room, control, document, api, request.user_text());
  };
  results.context = shorten(results.masked ? results.masked->body : request.document, std::nullopt);
  if (!request.native) return;
  const bool is_masked = results.masked && results.masked->native;
  const request::NativeRequest& native = is_masked ? *results.masked->native : *request.native;
  results.native_context = shorten(native.document, native.api);
}

Result<void> Planner::check_context(const PlanInputs& inputs, Plan& plan) {
  if (!compresses(inputs.target)) return {};
  const config::Decision& decision = *inputs.target.decision;
  const auto& context = plan.native ? inputs.results.native_context : inputs.results.context;
  if (context) {
    plan.context = context->report;
  } else {
    plan.context.outcome = plugins::ContextOutcome::kNotRun;
  }
  if (decision.context_compression->failure_mode != "fail_closed") return {};
  const plugins::ContextReport& report = plan.context;
  if (report.outcome == plugins::ContextOutcome::kOverTarget) {
    return fail(Code::kTooLarge,
                "decision \"{}\": context_compression allows requests of {} tokens, and this one "
                "has about {} after {} of its results were shortened",
                decision.name, report.target, report.tokens_after, report.results);
  }
  if (report.outcome == plugins::ContextOutcome::kNotRun)
    return fail(Code::kOverloaded, "decision \"{}\": there was no time to shorten the request",
                decision.name);
  return {};
}

}  // namespace signalbox::routing
