// To add an algorithm, write its own file and a line here.

#include <fmt/format.h>

#include "router/looper/cascade.h"
#include "router/looper/chooser.h"
#include "router/looper/looper.h"
#include "router/looper/panel.h"
#include "router/looper/stages.h"
#include "router/looper/workflows.h"

namespace signalbox::looper {
namespace {

bool is_cascade(const config::Algorithm& algorithm) {
  return algorithm.type == "confidence" || algorithm.type == "automix";
}

std::string names_of(std::span<const Voice> voices, std::string_view between) {
  std::string out;
  for (const Voice& voice : voices)
    out.append(out.empty() ? std::string_view() : between).append(voice.model);
  return out;
}

// The replies of the panel are not scored. So a panel that must leave out replies by their scores,
// or must fail without scores, cannot answer as its file requires.
Result<void> check_grounding(const config::Fusion::Grounding& grounding) {
  if (!grounding.enabled) return {};
  if (grounding.policy == "filter")
    return fail(Code::kInvalid,
                "fusion.grounding.policy: replies are not scored, so none can be left out: set "
                "enabled to false, or policy to weight or annotate");
  if (grounding.on_error == "fail")
    return fail(Code::kInvalid,
                "fusion.grounding.on_error: replies are not scored, so every request would fail: "
                "set enabled to false, or on_error to skip");
  return {};
}

}  // namespace

std::string_view name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::kAnswer:
      return "answer";
    case Purpose::kVerify:
      return "verify";
    case Purpose::kAnalyse:
      return "analyse";
    case Purpose::kSynthesise:
      return "synthesise";
    case Purpose::kPlan:
      return "plan";
    case Purpose::kChoose:
      return "choose";
    case Purpose::kDraw:
      return "draw";
  }
  return "";
}

std::unique_ptr<const Algorithm> make_algorithm(const config::Decision& decision,
                                                std::vector<Voice> voices,
                                                Conversation conversation,
                                                std::span<const config::ModelCard> cards) {
  const config::Algorithm& algorithm = decision.algorithm;
  if (algorithm.is_native()) return stages(decision, voices, std::move(conversation.task));
  if (algorithm.type == "prompt")
    return prompt_choice(algorithm, std::move(voices), std::move(conversation), cards);
  if (algorithm.type == "ratings")
    return ratings(algorithm.ratings.value_or(config::Ratings{}), std::move(voices));
  if (algorithm.type == "remom") return remom(decision, std::move(voices), std::move(conversation));
  if (algorithm.type == "fusion")
    return fusion(decision, std::move(voices), std::move(conversation));
  if (algorithm.type == "workflows")
    return workflows(decision, std::move(voices), std::move(conversation));
  SIGNALBOX_CHECK(is_cascade(algorithm));
  return cascade(cascade_settings(algorithm), cascade_order(algorithm, std::move(voices)),
                 std::move(conversation));
}

bool passes_request(const config::Algorithm& algorithm) {
  if (algorithm.is_native()) return false;
  if (algorithm.type == "prompt") return true;
  return is_cascade(algorithm) &&
         cascade_settings(algorithm).method == CascadeSettings::Method::kGrade;
}

std::string describe(const config::Decision& decision, std::span<const Voice> voices) {
  const config::Algorithm& algorithm = decision.algorithm;
  if (algorithm.type == "fusion" && algorithm.fusion) {
    const config::Fusion& fusion = *algorithm.fusion;
    std::string panel = fmt::format("{}", fmt::join(fusion.analysis_models, ", "));
    if (panel.empty()) panel = names_of(voices, ", ");
    return fmt::format("{}, judged by {}", panel,
                       fusion.model.empty() ? "the first of them" : fusion.model);
  }
  if (algorithm.is_native()) {
    std::string out;
    for (const config::Stage& stage : algorithm.stages) {
      if (stage.enabled) out += fmt::format("{}{}", out.empty() ? "" : ", then ", stage.model);
    }
    return out + ", until an answer is accepted";
  }
  if (!is_cascade(algorithm)) return names_of(voices, ", ");
  const std::vector<Voice> order = cascade_order(algorithm, {voices.begin(), voices.end()});
  return fmt::format("{}, until the confidence is {}", names_of(order, ", then "),
                     cascade_settings(algorithm).threshold);
}

Result<void> check(const config::Decision& decision) {
  if (decision.algorithm.type == "remom") return check_remom(decision);
  if (decision.algorithm.type == "workflows") return check_workflows(decision);
  if (decision.algorithm.type == "fusion" && decision.algorithm.fusion)
    return check_grounding(decision.algorithm.fusion->grounding);
  return {};
}

}  // namespace signalbox::looper
