// The keys of the plugin shadow_dispatch. router/shadow makes the calls.

#include <algorithm>
#include <chrono>

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;
using Shadow = ShadowDispatchPlugin;

void check_arm(Reader& reader, const yaml::Node& node, Shadow::Arm& arm) {
  const Providers& providers = reader.config.providers;
  if (arm.model.empty() || providers.models.empty()) return;
  if (arm.name.empty()) arm.name = arm.model;
  if (providers.find(arm.model) != nullptr) return;
  std::vector<std::string_view> known;
  for (const Model& each : providers.models) known.push_back(each.name);
  reader.at_key("model", [&] {
    reader.error(node.find("model")->line,
                 fmt::format("unknown model \"{}\"{}", arm.model, suggestion(arm.model, known)));
  });
}

constexpr Key kShadowArmKeys[] = {
    text(FIELD(Shadow::Arm, name), "Name in traces and records. Default: the model."),
    text(FIELD(Shadow::Arm, model), "One of `providers.models`.").required(),
    word(FIELD(Shadow::Arm, role), "candidate baseline", "Which side is on trial.")
        .no_effect("the report shows what both sides cost"),
    duration(FIELD(Shadow::Arm, timeout), 10ms, 1h,
             "Time limit of the call and of the comparison, each. Default: 30s."),
};
constexpr Section kShadowArm{kShadowArmKeys, checked<check_arm>};

constexpr Key kShadowLimitsKeys[] = {
    integer(FIELD(Shadow::Limits, max_concurrent_shadow), 1, 4096,
            "Requests of all decisions whose shadows are under way, from the first byte of the "
            "client's answer. Further requests get no shadow. Default: 16."),
    count(FIELD(Shadow::Limits, max_calls_per_minute),
          "Calls of all decisions in a minute. 0: no limit. Default: 60. Signalbox only."),
    bytes(FIELD(Shadow::Limits, max_request_bytes), 1, int64_t{1} << 30,
          "Larger requests get no shadow. Default: 1 MiB. Signalbox only."),
    bytes(FIELD(Shadow::Limits, max_response_bytes), 1, int64_t{1} << 20,
          "Greatest size of the text of each answer. Longer ones are not compared. Default: 64 "
          "KiB."),
    count(FIELD(Shadow::Limits, queue_depth), "Shadows that may wait.")
        .no_effect("no shadow waits: it begins or is left out")
        .unless("0"),
};
constexpr Section kShadowLimits{kShadowLimitsKeys};

void check_comparison(Reader& reader, const yaml::Node& node, Shadow::Comparison& comparison) {
  if (comparison.judge.empty()) return;
  const auto& models = reader.config.external_models;
  const auto is_it = [&](const ExternalModel& each) { return each.name == comparison.judge; };
  const auto found = std::find_if(models.begin(), models.end(), is_it);
  if (found != models.end() && !found->llm_endpoint.address.empty()) return;
  const std::string_view why = found == models.end()
                                   ? "there is no model \"{}\" in global.model_catalog.external"
                                   : "the model \"{}\" of global.model_catalog.external has no "
                                     "llm_endpoint.address";
  reader.at_key("judge", [&] {
    reader.error(node.find("judge")->line, fmt::format(fmt::runtime(why), comparison.judge));
  });
}

constexpr Key kShadowComparisonKeys[] = {
    share(
        FIELD(Shadow::Comparison, similarity_threshold),
        "Answers of at least this cosine agree, unless they contradict each other. Default: 0.8."),
    text(FIELD(Shadow::Comparison, judge),
         "Name of a model in `global.model_catalog.external` that decides instead whether two "
         "answers agree."),
};
constexpr Section kShadowComparison{kShadowComparisonKeys, checked<check_comparison>};

constexpr std::string_view kReplayKeeps =
    "router_replay decides whether records contain texts, and pii_mask what they contain";

constexpr Key kShadowCaptureKeys[] = {
    boolean(FIELD(Shadow::Capture, request_body), "Record the request.").no_effect(kReplayKeeps),
    boolean(FIELD(Shadow::Capture, response_body), "Record the answers.").no_effect(kReplayKeeps),
    word(FIELD(Shadow::Capture, redaction), "from_pii_signal none strict",
         "The texts that records do not contain.")
        .no_effect(kReplayKeeps),
};
constexpr Section kShadowCapture{kShadowCaptureKeys};

void check_arms(Reader& reader, const yaml::Node& node, std::vector<Shadow::Arm>& arms) {
  constexpr size_t kArmsMax = 4;
  if (arms.empty() || arms.size() > kArmsMax)
    reader.error(node.line,
                 fmt::format("expected 1 to {} models, found {}", kArmsMax, arms.size()));
  refuse_twice<&Shadow::Arm::model>(reader, node, arms);
}

constexpr Key kShadowKeys[] = {
    boolean(FIELD(Shadow, enabled), "false sends no shadows. Default: true."),
    share(FIELD(Shadow, sample_rate), "Share of the decision's requests. Default: 0.05."),
    boolean(FIELD(Shadow, skip_cached), "Answers from the cache have no shadow.")
        .no_effect("an answer from the cache never has a shadow, because nothing was asked anew")
        .unless("true yes on"),
    list(FIELD(Shadow, arms), kShadowArm, "The models that answer as shadows, 1 to 4.")
        .required()
        .then<check_arms>(),
    object(FIELD(Shadow, limits), kShadowLimits, "Bounds on calls and texts."),
    object(FIELD(Shadow, comparison), kShadowComparison,
           "How two answers are compared. Signalbox only."),
    object(FIELD(Shadow, capture), kShadowCapture, "Texts for records."),
};

}  // namespace

constinit const Section kShadowDispatch{kShadowKeys};

std::vector<const ShadowDispatchPlugin*> shadows_of(const Config& config) {
  std::vector<const ShadowDispatchPlugin*> out;
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions) {
      if (decision.shadow_dispatch && decision.shadow_dispatch->is_on())
        out.push_back(&*decision.shadow_dispatch);
    }
  }
  return out;
}

}  // namespace signalbox::config
