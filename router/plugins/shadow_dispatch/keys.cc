// The keys of the plugin shadow_dispatch. router/shadow makes the calls.

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

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

void refuse_two_limits(Reader& reader, const yaml::Node& node) {
  const yaml::Node* limits = node.find("limits");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSame = {
      {{"max_concurrency", "max_concurrent_shadow"}, {"max_response_bytes", "max_response_bytes"}}};
  for (const auto& [key, inner] : kSame) {
    if (limits == nullptr || !given(*limits, inner) || !given(node, key)) continue;
    reader.error(
        node.find(key)->line,
        fmt::format("\"{}\" and \"limits.{}\" are the same; expected one of them", key, inner));
  }
}

// Newer files of the Semantic Router have one model and no arms, and send every request.
void check_shadow(Reader& reader, const yaml::Node& node, Shadow& out) {
  constexpr double kShareOfNewerFiles = 1;
  refuse_two_limits(reader, node);
  const bool has_arms = given(node, "arms") != nullptr;
  const yaml::Node* limit = given(node, "timeout_seconds");
  if (has_arms && limit != nullptr)
    return reader.at_key("timeout_seconds", [&] {
      reader.error(limit->line, "it belongs to model; each of arms has a timeout of its own");
    });
  if (out.only.model.empty()) {
    if (has_arms || given(node, "model") != nullptr) return;
    return reader.at_key("arms",
                         [&] { reader.error(node.line, "missing; expected a list of mappings"); });
  }
  if (has_arms) return reader.error(node.line, "expected arms or model, found both");
  if (given(node, "sample_rate") == nullptr) out.sample_rate = kShareOfNewerFiles;
  check_arm(reader, node, out.only);
  out.arms.push_back(out.only);
}

void check_arms(Reader& reader, const yaml::Node& node, std::vector<Shadow::Arm>& arms) {
  constexpr size_t kArmsMax = 4;
  if (arms.empty() || arms.size() > kArmsMax)
    reader.error(node.line,
                 fmt::format("expected 1 to {} models, found {}", kArmsMax, arms.size()));
  refuse_twice<&Shadow::Arm::model>(reader, node, arms);
}

constexpr int64_t kSecondsMax = 3600;

void read_timeout(Reader& reader, const yaml::Node& node, std::chrono::milliseconds& out) {
  int64_t seconds = 0;
  if (read_integer(reader, node, "an integer from 1 to 3600", 1, kSecondsMax, seconds))
    out = std::chrono::seconds(seconds);
}

constexpr Key timeout_in_seconds() {
  Key key = key_of(FIELD_AS("timeout_seconds", Shadow, only.timeout), Kind::kInteger,
                   "Time limit of `model`, in seconds. Default: 30.")
                .read_by<read_timeout>();
  key.low = 1;
  key.high = kSecondsMax;
  return key;
}

constexpr Key kShadowKeys[] = {
    boolean(FIELD(Shadow, enabled), "false sends no shadows. Default: true."),
    share(FIELD(Shadow, sample_rate), "Share of the decision's requests. Default: 0.05."),
    boolean(FIELD(Shadow, skip_cached), "Answers from the cache have no shadow.")
        .no_effect("an answer from the cache never has a shadow, because no model was called")
        .unless("true yes on"),
    list(FIELD(Shadow, arms), kShadowArm, "The models that answer as shadows, 1 to 4.")
        .then<check_arms>(),
    text(FIELD_AS("model", Shadow, only.model),
         "One of `providers.models`, instead of `arms`; `sample_rate` is then 1 by default."),
    timeout_in_seconds(),
    integer(FIELD_AS("max_concurrency", Shadow, limits.max_concurrent_shadow), 1, 4096,
            "The same as `limits.max_concurrent_shadow`."),
    bytes(FIELD_AS("max_response_bytes", Shadow, limits.max_response_bytes), 1, int64_t{1} << 20,
          "The same as `limits.max_response_bytes`."),
    unread("max_queue_depth", "Shadows that may wait.", "no shadow waits: it begins or is left out")
        .unless("0"),
    unread("max_retries", "Further attempts.", "a call that fails is not repeated").unless("0"),
    unread("capture_response_body", "Record the answers.", kReplayKeeps).unless("false no off"),
    unread("max_capture_bytes", "Greatest length of a recorded answer.", kReplayKeeps),
    unread("tls_skip_verify", "Accept any certificate.",
           "`tls_skip_verify` of the model's backends holds")
        .unless("false no off"),
    unread("forward_headers", "Headers of header_mutation for the shadow.",
           "a shadow has no headers of the client's request"),
    object(FIELD(Shadow, limits), kShadowLimits, "Bounds on calls and texts."),
    object(FIELD(Shadow, comparison), kShadowComparison,
           "How two answers are compared. Signalbox only."),
    object(FIELD(Shadow, capture), kShadowCapture, "Texts for records."),
};

}  // namespace

constinit const Section kShadowDispatch{kShadowKeys, checked<check_shadow>};

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
