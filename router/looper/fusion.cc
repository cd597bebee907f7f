// The judge sees the panel's answers without knowing which model it is itself.

#include <algorithm>

#include "base/json_writer.h"
#include "router/looper/compose.h"
#include "router/looper/outcomes.h"
#include "router/looper/panel.h"

namespace signalbox::looper {
namespace {

constexpr std::string_view kAnalysis =
    "Several models have answered the question below. Compare the answers and reply with one JSON "
    "object and nothing else: {\"agreements\": [...], \"contradictions\": [...], \"gaps\": [...], "
    "\"mistakes\": [...]}. Each is a list of short sentences that name the answers by number.";
constexpr std::string_view kJudgement =
    "Several models have answered the question below. Write the best complete answer to the "
    "question. Use what is right in their answers, resolve what contradicts, and keep an answer "
    "that stands alone if it is right. Do not mention the other answers.";
constexpr std::string_view kOneCall =
    "Several models have answered the question below. First compare their answers for yourself: "
    "agreements, contradictions, gaps and mistakes. Then write the best complete answer to the "
    "question and nothing else. Do not mention the other answers.";
constexpr std::string_view kWithAnalysis =
    "\n\nQuestion:\n{{original}}\n\nAnswers:\n{{responses}}\n\nComparison of the answers:\n"
    "{{analysis}}";

class FusionRun final : public Algorithm {
 public:
  FusionRun(const config::Decision& decision, std::vector<Voice> voices, Conversation conversation)
      : settings_(decision.algorithm.fusion.value_or(config::Fusion{})),
        contract_(decision.output_contract),
        panel_(settings_.analysis_models),
        conversation_(std::move(conversation)) {
    if (panel_.empty()) {
      for (const Voice& voice : voices) panel_.push_back(voice.model);
    }
    judge_ = settings_.model.empty() ? panel_.front() : settings_.model;
    analyses_ = settings_.analysis_mode.empty() || settings_.analysis_mode == "separate";
  }

  uint32_t concurrent_max() const override { return settings_.max_concurrent; }

  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (turns.empty()) return may_call ? call_panel() : Step{.answer = failed(turns)};
    const auto panel = turns.first(std::min(turns.size(), panel_.size()));
    if (settings_.on_error == "fail" && any_failed(panel)) return {.answer = failed(turns)};
    if (!all_done(panel)) return {};
    const std::vector<size_t> good = replied(panel);
    const bool is_below = good.size() < quorum();
    if (is_below && settings_.falls_back() && (may_call || turns.size() > panel.size()))
      return fall_back(turns);
    if (good.empty() || (may_call && is_below)) return {.answer = failed(turns)};
    std::string analysis;
    size_t at = panel_.size();
    if (analyses_) {
      if (turns.size() <= at) return may_call ? analyse(turns, good) : finish(turns, good.front());
      if (!turns[at].is_done()) return {};
      if (const Reply* reply = turns[at].reply()) analysis = reply->text;
      ++at;
    }
    if (turns.size() <= at)
      return may_call ? judge(turns, good, analysis) : finish(turns, good.front());
    if (!turns[at].is_done()) return {};
    const Reply* judged = turns[at].reply();
    if (judged != nullptr && !judged->is_empty()) return finish(turns, at);
    if (settings_.on_error == "fail") return {.answer = failed(turns)};
    return finish(turns, good.front());
  }

  std::optional<Extension> extension(std::span<const Turn> turns) const override {
    // The panel has no part in the answer of another model.
    const auto panel = turns.first(std::min(turns.size(), panel_.size()));
    if (settings_.falls_back() && replied(panel).size() < quorum()) return std::nullopt;
    const bool has_analysis =
        analyses_ && turns.size() > panel_.size() && turns[panel_.size()].reply() != nullptr;
    const bool shows_analysis = settings_.include_analysis && has_analysis;
    if (!settings_.include_intermediate_responses && !shows_analysis) return std::nullopt;
    json::Writer out;
    out.begin_object().member("judge_model", judge_);
    out.member("judge_prompt_version", settings_.judge_prompt_version.empty()
                                           ? "fusion-v1"
                                           : settings_.judge_prompt_version.c_str());
    if (settings_.include_intermediate_responses)
      out.key("responses").raw(describe_turns(turns.first(panel_.size())));
    if (shows_analysis) out.member("analysis", turns[panel_.size()].reply()->text);
    return Extension{"fusion", out.end_object().take()};
  }

 private:
  size_t quorum() const { return std::max(1U, settings_.min_successful_responses); }

  // The answer is that of a model outside of the panel, to the request as it is.
  Step fall_back(std::span<const Turn> turns) const {
    const size_t at = panel_.size();
    if (turns.size() > at) {
      const Reply* reply = turns[at].reply();
      if (!turns[at].is_done()) return {};
      if (reply == nullptr || reply->is_empty()) return {.answer = failed(turns)};
      return {.answer = RunAnswer{.turn = at}};
    }
    Step out;
    out.calls.push_back(call_of(settings_.quorum_fallback_target, Purpose::kAnswer));
    out.calls.back().is_last = true;
    return out;
  }

  Call call_of(const std::string& model, Purpose purpose) const {
    Call out;
    out.model = model;
    out.purpose = purpose;
    out.temperature = settings_.temperature;
    out.max_tokens = settings_.max_completion_tokens;
    return out;
  }

  Step call_panel() const {
    Step out;
    out.limit = std::chrono::seconds(settings_.round_timeout_seconds);
    for (const std::string& model : panel_) {
      Call call = call_of(model, Purpose::kAnswer);
      call.offers_tools = false;
      for (const config::Fusion::Override& each : settings_.analysis_overrides) {
        if (each.model != model) continue;
        if (each.temperature) call.temperature = each.temperature;
        if (each.max_completion_tokens > 0) call.max_tokens = each.max_completion_tokens;
      }
      out.calls.push_back(std::move(call));
    }
    return out;
  }

  Step analyse(std::span<const Turn> turns, const std::vector<size_t>& good) const {
    Call call = call_of(judge_, Purpose::kAnalyse);
    const std::string& text = settings_.analysis_template;
    call.prompt = synthesis_prompt(text.empty() ? kAnalysis : text, conversation_,
                                   quote_replies(turns, good), "", "");
    call.keeps_system = false;
    call.offers_tools = false;
    Step out;
    out.calls.push_back(std::move(call));
    return out;
  }

  Step judge(std::span<const Turn> turns, const std::vector<size_t>& good,
             const std::string& analysis) const {
    Call call = call_of(judge_, Purpose::kSynthesise);
    std::string text = settings_.synthesis_template;
    if (text.empty()) {
      text = settings_.analysis_mode == "one_call" ? kOneCall : kJudgement;
      if (!analysis.empty()) text += kWithAnalysis;
    }
    call.prompt =
        synthesis_prompt(text, conversation_, quote_replies(turns, good), analysis, contract_);
    call.is_last = true;
    Step out;
    out.calls.push_back(std::move(call));
    return out;
  }

  Step finish(std::span<const Turn> turns, size_t turn) const {
    return {.answer = RunAnswer{turn, extended(turns[turn].reply()->body, extension(turns))}};
  }

  const config::Fusion settings_;
  const std::string contract_;
  std::vector<std::string> panel_;
  std::string judge_;
  bool analyses_ = true;
  const Conversation conversation_;
};

}  // namespace

std::unique_ptr<const Algorithm> fusion(const config::Decision& decision, std::vector<Voice> voices,
                                        Conversation conversation) {
  return std::make_unique<FusionRun>(decision, std::move(voices), std::move(conversation));
}

}  // namespace signalbox::looper
