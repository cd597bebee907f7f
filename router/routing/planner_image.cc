// A plan whose answer is an image.

#include <algorithm>

#include "base/ascii.h"
#include "router/plugins/image_gen/image_gen.h"
#include "router/routing/planner.h"

namespace signalbox::routing {
namespace {

bool has_modality(const PlanInputs& inputs, std::string_view name) {
  return std::any_of(inputs.matched.begin(), inputs.matched.end(),
                     [name](const MatchedCondition& condition) {
                       return condition.type == "modality" && condition.name == name;
                     });
}

bool draws(const selection::Candidate& candidate) {
  return candidate.card != nullptr && ascii::iequals(candidate.card->modality, "diffusion");
}

}  // namespace

// Sets plan.image, and leaves only the models for images among the candidates if there are any.
Result<void> Planner::begin_image(const PlanInputs& inputs, Candidates& candidates,
                                  Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  if (decision == nullptr || !decision->image_gen || !decision->image_gen->enabled) return {};
  if (has_modality(inputs, "AR")) return {};
  if (has_modality(inputs, "BOTH")) {
    return fail(Code::kUnsupported,
                "decision \"{}\": a text and an image in one answer are not supported",
                decision->name);
  }
  plan.image = &*decision->image_gen;
  if (std::any_of(candidates.begin(), candidates.end(), draws))
    std::erase_if(candidates, [](const selection::Candidate& each) { return !draws(each); });
  return {};
}

// Only the last message of the user becomes the image; no other plugin changes it.
Result<void> Planner::request_image(const PlanInputs& inputs, Plan& plan) const {
  plan.loop = nullptr;
  plan.voices.clear();
  const config::ModalityDetection& own = plan.image->modality_detection
                                             ? *plan.image->modality_detection
                                             : config_.modules.modality_detector;
  const std::vector<std::string>& prefixes = own.prompt_prefixes.empty()
                                                 ? config_.modules.modality_detector.prompt_prefixes
                                                 : own.prompt_prefixes;
  const std::optional<plugins::Masked>& masked = inputs.results.masked;
  if (!masked || masked->masks.empty()) {
    plan.body = plugins::write_image_request(*plan.image, prefixes,
                                             inputs.signal_inputs.request().user_text());
    return {};
  }
  SIGNALBOX_TRY(const request::ChatRequest request,
                request::ChatRequest::parse(std::string(masked->body.source())));
  plan.body = plugins::write_image_request(*plan.image, prefixes, request.user_text());
  plan.masks = masked->masks;
  return {};
}

}  // namespace signalbox::routing
