// The plan of a model is read anew from its turn at every step, so that the run needs no state.

#include "router/looper/workflows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "router/looper/compose.h"
#include "router/looper/outcomes.h"
#include "router/looper/panel.h"
#include "router/looper/prompts.h"
#include "router/looper/workflow_plan.h"

namespace signalbox::looper {
namespace {

constexpr std::string_view kPlanPrompt =
    "Plan how to answer the question below in at most {{steps}} steps. Each step is done by one "
    "to {{parallel}} of these models: {{models}}. A step sees the results of the earlier steps. "
    "The answer is written from all results afterwards, so that no step is needed for it. Reply "
    "with one JSON object and nothing else: {\"steps\": [{\"name\": \"...\", \"models\": "
    "[\"...\"], \"prompt\": \"what this step has to do\"}]}.\n\nQuestion:\n{{question}}";
constexpr std::string_view kStepPrompt = "{{task}}\n\nQuestion:\n{{question}}";
constexpr std::string_view kResults = "\n\nResults of earlier steps:\n{{results}}";
constexpr std::string_view kFinalPrompt =
    "Other models have worked on the question below in steps. Write the best complete answer to "
    "the question from their results. Do not mention the steps.";

std::vector<std::string> refs_of(const config::Decision& decision) {
  std::vector<std::string> out;
  for (const config::ModelRef& ref : decision.model_refs) out.push_back(ref.model);
  return out;
}

class WorkflowRun final : public Algorithm {
 public:
  WorkflowRun(const config::Decision& decision, std::vector<Voice> voices,
              Conversation conversation)
      : settings_(decision.algorithm.workflows.value_or(config::Workflows{})),
        contract_(decision.output_contract),
        allowed_(refs_of(decision)),
        voices_(std::move(voices)),
        conversation_(std::move(conversation)),
        plans_(settings_.mode == "dynamic"),
        fails_(settings_.on_error == "fail"),
        skips_(settings_.on_error == "skip") {}

  uint32_t concurrent_max() const override { return settings_.max_parallel; }

  Step next(std::span<const Turn> turns, bool may_call) const override {
    size_t begin = 0;
    if (plans_) {
      if (turns.empty()) return may_call ? make_plan() : Step{.answer = failed(turns)};
      if (!turns.front().is_done()) return {};
      if (fails_ && any_failed(turns.first(1))) return {.answer = failed(turns)};
      begin = 1;
    }
    const WorkflowPlan plan = plan_of(turns);
    std::vector<size_t> good;  // of the last step that has any
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const size_t calls = plan.steps[s].models.size();
      if (begin == turns.size()) return may_call ? start(plan, s, turns) : finish(turns, good);
      const auto part = turns.subspan(begin, calls);
      if (fails_ && any_failed(part)) return {.answer = failed(turns)};
      std::vector<size_t> found = replied(part);
      const size_t wanted = settings_.min_successful_responses;
      const bool is_enough = wanted > 0 && found.size() >= wanted && !resumes(part);
      if (!all_done(part) && !is_enough) return {};
      if (found.empty() && !skips_ && may_call) return {.answer = failed(turns)};
      for (size_t& i : found) i += begin;
      if (auto waiting = calling_tools(turns, found); !waiting.empty())
        return wait(std::move(waiting));
      if (!found.empty()) good = std::move(found);
      begin += calls;
    }
    if (plan.final_model.empty()) return finish(turns, good);
    if (begin == turns.size()) return may_call ? write_answer(plan, turns) : finish(turns, good);
    const Turn& last = turns[begin];
    if (!last.is_done()) return {};
    if (auto waiting = calling_tools(turns, {begin}); !waiting.empty())
      return wait(std::move(waiting));
    if (last.reply() != nullptr && !last.reply()->is_empty()) return finish(turns, {begin});
    if (fails_) return {.answer = failed(turns)};
    return finish(turns, good);
  }

  std::optional<Extension> extension(std::span<const Turn> turns) const override {
    if (!settings_.include_intermediate_responses) return std::nullopt;
    json::Writer out;
    out.begin_object().member("mode", plans_ ? "dynamic" : "static");
    out.key("responses").raw(describe_turns(turns)).end_object();
    return Extension{"flow", out.take()};
  }

 private:
  /// Returns true if a call with the client's tool results is not done. The client has run these
  /// tools for it, so a step waits for it even if other models have answered.
  static bool resumes(std::span<const Turn> turns) {
    return std::any_of(turns.begin(), turns.end(),
                       [](const Turn& turn) { return turn.call.has_results && !turn.is_done(); });
  }

  /// Without a plan that can be read, every model answers in one step.
  WorkflowPlan plan_of(std::span<const Turn> turns) const {
    if (!plans_) return static_plan(settings_, allowed_).value_or(WorkflowPlan{});
    const PlanLimits limits{settings_.max_steps, settings_.max_parallel};
    Result<WorkflowPlan> read = fail(Code::kInvalid, "there is no plan");
    if (const Reply* reply = turns.front().reply()) read = read_plan(reply->text, allowed_, limits);
    WorkflowPlan out;
    if (read) out = *std::move(read);
    if (out.steps.empty()) {
      WorkflowStep all{.name = "answer", .models = {}, .prompt = ""};
      for (const Voice& voice : voices_) {
        if (all.models.size() < limits.models) all.models.push_back(voice.model);
      }
      out.steps.push_back(std::move(all));
    }
    out.final_model = settings_.planner.model;
    return out;
  }

  Call call_of(const std::string& model, Purpose purpose) const {
    Call out;
    out.model = model;
    out.purpose = purpose;
    out.temperature = settings_.temperature;
    out.max_tokens = settings_.max_completion_tokens;
    out.offers_tools = false;
    return out;
  }

  Step make_plan() const {
    Call call = call_of(settings_.planner.model, Purpose::kPlan);
    if (settings_.planner.temperature) call.temperature = settings_.planner.temperature;
    call.max_tokens = settings_.planner.max_completion_tokens;
    call.keeps_system = false;
    call.prompt = render(kPlanPrompt, {{"steps", std::to_string(settings_.max_steps)},
                                       {"parallel", std::to_string(settings_.max_parallel)},
                                       {"models", fmt::format("{}", fmt::join(allowed_, ", "))},
                                       {"question", conversation_.transcript}});
    Step out;
    out.limit = std::chrono::seconds(settings_.planner.timeout_seconds);
    out.calls.push_back(std::move(call));
    return out;
  }

  /// The results that a step sees.
  static std::vector<size_t> visible(const WorkflowStep& step, std::span<const Turn> turns) {
    std::vector<size_t> out;
    for (const size_t i : replied(turns)) {
      const std::string_view label = turns[i].call.label;
      const std::string_view name = label.substr(0, label.find(':'));
      const auto matches = [&](const std::string& each) { return each == label || each == name; };
      const bool is_open =
          !step.access || std::any_of(step.access->begin(), step.access->end(), matches);
      if (!label.empty() && is_open) out.push_back(i);
    }
    return out;
  }

  Step start(const WorkflowPlan& plan, size_t s, std::span<const Turn> turns) const {
    const WorkflowStep& step = plan.steps[s];
    const std::vector<size_t> seen = visible(step, turns);
    const bool is_plain = step.prompt.empty() && seen.empty();
    const bool ends = s + 1 == plan.steps.size() && plan.final_model.empty();
    std::string text(kStepPrompt);
    if (!seen.empty()) text += kResults;
    const std::string task =
        step.prompt.empty() ? fmt::format("Your part in answering the question: {}.", step.name)
                            : step.prompt;
    Step out;
    out.limit = std::chrono::seconds(settings_.round_timeout_seconds);
    for (size_t i = 0; i < step.models.size(); ++i) {
      Call call = call_of(step.models[i], Purpose::kAnswer);
      call.label = fmt::format("{}:{}:{}", step.name, i + 1, step.models[i]);
      if (!is_plain) {
        call.prompt = render(text, {{"task", task},
                                    {"question", conversation_.transcript},
                                    {"results", quote_replies(turns, seen)}});
      }
      call.offers_tools = conversation_.may_wait || (ends && step.models.size() == 1);
      call.is_last = ends && step.models.size() == 1 && !conversation_.may_wait;
      out.calls.push_back(std::move(call));
    }
    return out;
  }

  Step write_answer(const WorkflowPlan& plan, std::span<const Turn> turns) const {
    Call call = call_of(plan.final_model, Purpose::kSynthesise);
    const std::string_view text =
        plan.final_prompt.empty() ? kFinalPrompt : std::string_view(plan.final_prompt);
    call.prompt = synthesis_prompt(text, conversation_, quote_replies(turns, visible({}, turns)),
                                   "", contract_);
    call.is_last = !conversation_.may_wait;
    call.offers_tools = true;
    Step out;
    out.limit = std::chrono::seconds(settings_.round_timeout_seconds);
    out.calls.push_back(std::move(call));
    return out;
  }

  /// Returns those of the turns `which` that called tools; none if the run cannot wait for the
  /// results.
  std::vector<size_t> calling_tools(std::span<const Turn> turns,
                                    const std::vector<size_t>& which) const {
    std::vector<size_t> out;
    for (const size_t i : which) {
      const Reply* reply = turns[i].reply();
      if (conversation_.may_wait && reply != nullptr && reply->calls_tools) out.push_back(i);
    }
    return out;
  }

  static Step wait(std::vector<size_t> waiting) {
    const size_t first = waiting.front();
    return {.answer = RunAnswer{.turn = first, .waiting = std::move(waiting)}};
  }

  Step finish(std::span<const Turn> turns, const std::vector<size_t>& good) const {
    if (good.empty()) return {.answer = failed(turns)};
    const size_t turn = good.front();
    return {.answer = RunAnswer{turn, extended(turns[turn].reply()->body, extension(turns))}};
  }

  const config::Workflows settings_;
  const std::string contract_;
  const std::vector<std::string> allowed_;
  const std::vector<Voice> voices_;
  const Conversation conversation_;
  const bool plans_, fails_, skips_;
};

}  // namespace

std::unique_ptr<const Algorithm> workflows(const config::Decision& decision,
                                           std::vector<Voice> voices, Conversation conversation) {
  return std::make_unique<WorkflowRun>(decision, std::move(voices), std::move(conversation));
}

Result<void> check_workflows(const config::Decision& decision) {
  const config::Workflows settings = decision.algorithm.workflows.value_or(config::Workflows{});
  if (settings.mode == "dynamic") {
    if (settings.planner.model.empty())
      return fail(Code::kInvalid, "algorithm.workflows.planner.model: mode dynamic needs it");
    if (settings.max_steps == 0 || settings.max_parallel == 0) {
      return fail(Code::kInvalid,
                  "algorithm.workflows: max_steps and max_parallel must be at least 1");
    }
    return {};
  }
  const std::vector<std::string> allowed = refs_of(decision);
  SIGNALBOX_TRY(const WorkflowPlan plan, static_plan(settings, allowed));
  static_cast<void>(plan);
  return {};
}

}  // namespace signalbox::looper
