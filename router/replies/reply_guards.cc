// Models are shared with the checks of replies, which may outlive the configuration.

#include "router/replies/reply_guards.h"

#include <algorithm>

#include "router/models/remote_detector.h"
#include "router/signals/factory.h"
#include "router/signals/jailbreak_windows.h"

namespace signalbox::replies {
namespace {

constexpr size_t kQuestionBytesMax = grounding::CheckOptions{}.question_bytes_max;

void add_paragraph(std::string& out, std::string_view text) {
  if (text.empty()) return;
  if (!out.empty()) out += "\n\n";
  out += text;
}

ReplyAction action_of(config::HallucinationPlugin::Action action) {
  using Action = config::HallucinationPlugin::Action;
  switch (action) {
    case Action::kHeader:
      return ReplyAction::kAnnotate;
    case Action::kBody:
      return ReplyAction::kWarn;
    case Action::kBlock:
      return ReplyAction::kEnd;
    case Action::kNone:
      return ReplyAction::kNone;
  }
  return ReplyAction::kNone;
}

ReplyAction action_of(config::ResponseJailbreakPlugin::Action action) {
  using Action = config::ResponseJailbreakPlugin::Action;
  switch (action) {
    case Action::kHeader:
      return ReplyAction::kAnnotate;
    case Action::kBlock:
      return ReplyAction::kEnd;
    case Action::kNone:
      return ReplyAction::kNone;
  }
  return ReplyAction::kNone;
}

// Returns the first head of that kind in the model for a signal type, or an empty model if there is
// none.
Result<grounding::Model> model_of(const config::Config& config, const models::Models& models,
                                  std::string_view type, engine::HeadKind kind) {
  const std::string directory = models::classifier_directory(config, type);
  const auto found = models.classifiers.find(directory);
  if (found == models.classifiers.end()) return grounding::Model{};
  SIGNALBOX_TRY(const signals::ModelChoice choice,
                signals::choose_head(*found->second, models.answering(directory), kind, ""));
  return grounding::Model{found->second, choice.head};
}

template <class Has>
bool any_decision(const config::Config& config, const Has& has) {
  const auto routings = config::routings_of(config);
  return std::any_of(routings.begin(), routings.end(), [&](const config::Routing* routing) {
    return std::any_of(routing->decisions.begin(), routing->decisions.end(), has);
  });
}

}  // namespace

GroundTruth ground_truth_of(const request::ChatRequest& request, std::string_view documents) {
  GroundTruth out;
  add_paragraph(out.context, documents);
  bool has_results = !documents.empty();
  const request::ChatMessage* last_user_message = nullptr;
  for (const request::ChatMessage& message : request.messages) {
    if (message.role == "user") last_user_message = &message;
  }
  std::string earlier;
  for (const request::ChatMessage& message : request.messages) {
    if (message.role == "tool" || message.role == "function") {
      has_results = has_results || !message.text.empty();
      add_paragraph(out.context, message.text);
    } else if (message.role == "system" || message.role == "developer") {
      add_paragraph(out.instructions, message.text);
    } else if (message.role == "user" &&
               (&message != last_user_message || message.text.size() > kQuestionBytesMax)) {
      add_paragraph(earlier, message.text);
    }
  }
  out.empty = !has_results && out.instructions.empty();
  add_paragraph(out.context, out.instructions);
  add_paragraph(out.context, earlier);
  if (has_results) out.instructions.clear();
  if (last_user_message != nullptr && last_user_message->text.size() <= kQuestionBytesMax)
    out.question = last_user_message->text;
  return out;
}

Result<std::unique_ptr<const ReplyGuards>> ReplyGuards::create(const config::Config& config,
                                                               const models::Models& models) {
  std::unique_ptr<ReplyGuards> out(new ReplyGuards(config));
  SIGNALBOX_TRY_VOID(out->add_checkers(models));
  SIGNALBOX_TRY_VOID(out->add_judge(models));
  if (const auto server = models::detector_server(config))
    out->detector_wait_ = std::chrono::seconds(server->llm_timeout_seconds);
  out->add_notices();
  return out;
}

Result<void> ReplyGuards::add_checkers(const models::Models& models) {
  grounding::CheckOptions options;
  options.entailment = config_.modules.hallucination_mitigation.detector.nli_entailment_threshold;
  grounding::Models used;
  SIGNALBOX_TRY(used.hallucination,
                model_of(config_, models, "hallucination", engine::HeadKind::kTokens));
  SIGNALBOX_TRY(auto plain, grounding::Checker::create(options, used));
  plain_ = inferring_ = std::make_shared<const grounding::Checker>(std::move(plain));
  SIGNALBOX_TRY(used.inference, model_of(config_, models, "nli", engine::HeadKind::kSequence));
  if (used.inference.model == nullptr) return {};
  SIGNALBOX_TRY(auto inferring, grounding::Checker::create(options, used));
  inferring_ = std::make_shared<const grounding::Checker>(std::move(inferring));
  return {};
}

Result<void> ReplyGuards::add_judge(const models::Models& models) {
  const config::ClassifierModel& guard = config_.modules.prompt_guard;
  const std::string directory = models::classifier_directory(config_, "jailbreak");
  const auto found = models.classifiers.find(directory);
  if (found == models.classifiers.end()) return {};
  SIGNALBOX_TRY(const signals::ModelChoice choice,
                signals::choose_head(*found->second, models.answering(directory),
                                     engine::HeadKind::kSequence, guard.mapping_path));
  judge_.head = choice.head;
  judge_.positive = signals::find_jailbreak_labels(guard, choice.labels);
  judge_.threshold = guard.threshold > 0 ? guard.threshold : signals::kJailbreakThreshold;
  if (!judge_.positive.empty()) judge_.model = found->second;
  return {};
}

void ReplyGuards::add_notices() {
  const bool infers = any_decision(config_, [](const config::Decision& decision) {
    return decision.hallucination && decision.hallucination->enabled &&
           decision.hallucination->use_nli;
  });
  if (infers && plain_ == inferring_) {
    notices_.push_back(
        fmt::format("{}: replies are to be checked against their context by an inference model and "
                    "there is none (global.model_catalog.system.hallucination_explainer); numbers, "
                    "dates, units and names are checked without it",
                    config_.source));
  }
  const bool checks_jailbreak = any_decision(config_, [](const config::Decision& decision) {
    return decision.response_jailbreak && decision.response_jailbreak->enabled;
  });
  if (checks_jailbreak && judge_.model == nullptr) {
    notices_.push_back(fmt::format(
        "{}: replies are to be checked for attempts to override instructions and there is no "
        "model for that (global.model_catalog.system.prompt_guard); they are marked as unchecked, "
        "and withheld where the action is block and on_error of prompt_guard is not allow",
        config_.source));
  }
}

std::optional<WatchedReply> ReplyGuards::watched_reply(const routing::Plan& plan,
                                                       const request::ChatRequest& request) const {
  if (plan.grounding == nullptr && plan.jailbreak == nullptr) return std::nullopt;
  ReplyRules rules;
  GroundTruth truth;
  std::shared_ptr<const grounding::Checker> checker;
  const config::HallucinationDetector& detector = config_.modules.hallucination_mitigation.detector;
  // A server quotes exactly the words that it means, so even one word counts.
  const SpanRules spans{std::max(detector.model.threshold, detector.min_span_confidence),
                        detector_wait_ ? 1 : detector.min_span_length};
  if (plan.grounding != nullptr) {
    const std::string& memories = plan.memories.text;
    truth = ground_truth_of(request, memories.empty()
                                         ? plan.documents.text
                                         : fmt::format("{}\n\n{}", plan.documents.text, memories));
    rules.grounding = !truth.empty;
    rules.unverified = truth.empty && plan.needs_facts;
    rules.on_hallucination = action_of(plan.grounding->hallucination_action);
    rules.on_unverified = action_of(plan.grounding->unverified_factual_action);
    rules.details = plan.grounding->include_hallucination_details;
    checker = plan.grounding->use_nli || detector.enable_nli_filtering ? inferring_ : plain_;
  }
  JailbreakJudge judge;
  if (plan.jailbreak != nullptr) {
    using OnError = config::ClassifierModel::OnError;
    judge = judge_;
    if (plan.jailbreak->threshold > 0) judge.threshold = plan.jailbreak->threshold;
    rules.jailbreak = true;
    rules.on_jailbreak = action_of(plan.jailbreak->action);
    rules.fails_closed = rules.on_jailbreak == ReplyAction::kEnd &&
                         config_.modules.prompt_guard.on_error != OnError::kAllow;
  }
  if (!rules.grounding && !rules.unverified && !rules.jailbreak) return std::nullopt;
  const std::chrono::seconds never{0};
  return WatchedReply{.rules = rules,
                      .check = std::make_shared<ReplyCheck>(
                          rules, std::move(truth), std::move(checker), spans, std::move(judge)),
                      .wait_min = rules.grounding ? detector_wait_.value_or(never) : never};
}

}  // namespace signalbox::replies
