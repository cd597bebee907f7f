// Calls that were not needed in the end are listed, too: only the replies decide about them.

#include "router/routing/plan_calls.h"

#include "router/looper/outline.h"

namespace signalbox::routing {
namespace {

std::vector<looper::OutlinedCall> outline_of(const Plan& plan, const config::Looper& looper) {
  if (plan.loop == nullptr || plan.path != Plan::Path::kUpstream) return {};
  if (plan.painter != nullptr)
    return looper::outline(*looper::text_and_image(plan.voices), plan.voices.size());
  return looper::outline(*plan.loop, plan.voices, looper);
}

}  // namespace

void write_calls(const Plan& plan, const config::Looper& looper, json::Writer& out) {
  const auto calls = outline_of(plan, looper);
  if (calls.empty()) return;
  out.key("calls").begin_array();
  for (const looper::OutlinedCall& call : calls) {
    out.begin_object().member("step", static_cast<int64_t>(call.step)).member("model", call.model);
    out.member("purpose", looper::name_of(call.purpose));
    if (!call.label.empty()) out.member("label", call.label);
    out.end_object();
  }
  out.end_array();
}

std::string calls_words(const Plan& plan, const config::Looper& looper) {
  std::string out;
  size_t step = 0;
  for (const looper::OutlinedCall& call : outline_of(plan, looper)) {
    if (out.empty()) out = "\nCalls, if none fails (replies may make some unnecessary):";
    out += call.step == step ? "," : fmt::format("{} {}.", step == 0 ? "" : ";", call.step);
    out += fmt::format(" {} {}", call.model, looper::name_of(call.purpose));
    step = call.step;
  }
  return out;
}

}  // namespace signalbox::routing
