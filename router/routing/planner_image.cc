// A plan whose answer is an image, or a text with an image.

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

/// The candidates for images, or those for texts; all of them if there are none of the kind.
std::vector<selection::Candidate> suited(const std::vector<selection::Candidate>& candidates,
                                         bool for_images) {
  std::vector<selection::Candidate> out;
  for (const selection::Candidate& each : candidates) {
    if (draws(each) == for_images) out.push_back(each);
  }
  return out.empty() ? candidates : out;
}

std::vector<std::string_view> names_of(const std::vector<const config::Model*>& models) {
  std::vector<std::string_view> out;
  for (const config::Model* model : models) out.emplace_back(model->name);
  return out;
}

void add_voice(const std::string& model, Plan& plan) {
  looper::Voice voice;
  voice.model = model;
  plan.voices.push_back(std::move(voice));
}

}  // namespace

// A model without a card may be a candidate for both parts.
void Planner::add_left_out(std::vector<Plan::LeftOut>& from, std::vector<Plan::LeftOut>& to) {
  for (Plan::LeftOut& each : from) {
    const auto is_same = [&each](const Plan::LeftOut& other) { return other.model == each.model; };
    if (std::none_of(to.begin(), to.end(), is_same)) to.push_back(std::move(each));
  }
}

// Sets plan.image if the answer is an image alone. If it is a text with an image, returns the
// models that may draw. Keeps only the candidates for the answer's kind in `candidates`, if there
// are any.
Planner::Candidates Planner::begin_image(const PlanInputs& inputs, Candidates& candidates,
                                         Plan& plan) {
  const config::Decision* decision = inputs.target.decision;
  if (decision == nullptr || !decision->image_gen || !decision->image_gen->enabled) return {};
  const RuntimeConditions& conditions = inputs.conditions;
  if (!conditions.voice.empty()) {
    if (conditions.draws) plan.image = &*decision->image_gen;
    return {};
  }
  const bool is_both = !has_modality(inputs, "AR") && has_modality(inputs, "BOTH");
  const bool has_text = is_both || has_modality(inputs, "AR");
  Candidates painters;
  if (is_both) painters = suited(candidates, true);
  candidates = suited(candidates, !has_text);
  if (!has_text) plan.image = &*decision->image_gen;
  return painters;
}

// A request that no model for images may get goes to no image server and gets no answer, as for an
// image alone.
// `writers` are the candidates for the text.
Result<void> Planner::add_painter(const PlanInputs& inputs, Candidates writers, Candidates painters,
                                  Plan& plan) const {
  Plan choice;
  remove_forbidden(inputs.conditions.allowed, painters, choice);
  if (!painters.empty()) remove_restricted(inputs.results, painters, choice);
  add_left_out(choice.left_out, plan.left_out);
  if (painters.empty()) {
    plan.path = choice.path;
    plan.guarded = std::move(choice.guarded);
    plan.message = std::move(choice.message);
    return {};
  }
  // A plan reports one experiment, and that is the choice of the text's model.
  RuntimeConditions conditions = inputs.conditions;
  conditions.seed.reset();
  const PlanInputs without_experiment{inputs.target,  inputs.confidence,    inputs.values,
                                      inputs.matched, inputs.signal_inputs, inputs.results,
                                      conditions,     inputs.recipe,        inputs.signals};
  SIGNALBOX_TRY(const selection::Candidate painter, choose(without_experiment, painters, choice));
  plan.painter = painter.model;
  // An algorithm that calls several models has no place beside the image: the first one answers.
  if (plan.loop != nullptr) plan.selection_method = plan.selection_reason = "";
  plan.loop = inputs.target.decision;
  plan.voices.clear();
  add_writers(inputs, std::move(writers), plan);
  add_voice(plan.painter->name, plan);
  return {};
}

// The voices for the text: the model of the plan, then those that an ordinary request would try if
// it fails. The plan of each call examines anew whether the model can serve the request and may see
// its personal data, but knows no key.
void Planner::add_writers(const PlanInputs& inputs, Candidates candidates, Plan& plan) const {
  std::vector<const config::Model*> all{plan.model};
  for (;;) {
    const std::vector<std::string_view> failed = names_of(all);
    remove_failed(failed, inputs.target.decision, candidates);
    Plan unused;
    remove_forbidden(inputs.conditions.allowed, candidates, unused);
    if (candidates.empty()) break;
    for (const selection::Candidate& each : candidates) {
      if (std::ranges::find(all, each.model) == all.end()) all.push_back(each.model);
    }
  }
  for (const config::Model* model : all) add_voice(model->name, plan);
}

// Only the last message of the user becomes the image. Masks are not taken back in the reply: an
// image server could put them into the URL that the client opens, and so read what they hide.
Result<void> Planner::request_image(const PlanInputs& inputs, Plan& plan) const {
  plan.loop = nullptr;
  plan.voices.clear();
  const config::Decision& decision = *inputs.target.decision;
  if (decision.header_mutation) plan.header_mutation = &*decision.header_mutation;
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
  return {};
}

}  // namespace signalbox::routing
