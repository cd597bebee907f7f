// Rounds follow each other in the list of turns, so that a round is found by its place.

#include <algorithm>
#include <cmath>
#include <random>

#include "base/json_writer.h"
#include "router/looper/compose.h"
#include "router/looper/outcomes.h"
#include "router/looper/panel.h"

namespace signalbox::looper {
namespace {

constexpr double kBreadthMax = 64;
constexpr size_t kRoundsMax = 8;
constexpr size_t kBytesPerToken = 4;  // of an English text, roughly
constexpr std::string_view kInstruction =
    "Several models have answered the question below. Compare their answers, keep what is right, "
    "correct what is wrong, and write the best complete answer to the question. Do not mention "
    "the other answers.";

/// Returns the number of calls of each voice. The calls are divided by weight and rounded down;
/// those that remain go to the largest remainders.
std::vector<size_t> weighted_counts(const std::vector<Voice>& voices, size_t calls) {
  double all = 0;
  for (const Voice& voice : voices) all += std::max(0.0, voice.weight);
  std::vector<size_t> counts(voices.size(), 0);
  std::vector<std::pair<double, size_t>> rest;
  size_t given = 0;
  for (size_t i = 0; i < voices.size(); ++i) {
    const double weight =
        all > 0 ? std::max(0.0, voices[i].weight) / all : 1.0 / static_cast<double>(voices.size());
    const double share = weight * static_cast<double>(calls);
    counts[i] = static_cast<size_t>(share);
    given += counts[i];
    rest.emplace_back(-(share - std::floor(share)), i);
  }
  std::stable_sort(rest.begin(), rest.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; given < calls; ++i, ++given) ++counts[rest[i % rest.size()].second];
  return counts;
}

class Remom final : public Algorithm {
 public:
  Remom(const config::Decision& decision, std::vector<Voice> voices, Conversation conversation)
      : settings_(*decision.algorithm.remom),
        contract_(decision.output_contract),
        voices_(std::move(voices)),
        conversation_(std::move(conversation)) {}

  uint32_t concurrent_max() const override { return settings_.max_concurrent; }

  Step next(std::span<const Turn> turns, bool may_call) const override {
    std::vector<size_t> good;  // replies of the last round that has any
    size_t begin = 0;
    for (const double breadth : settings_.breadth_schedule) {
      const auto calls = static_cast<size_t>(breadth);
      if (begin == turns.size()) {
        if (may_call) return round(turns, calls, good, begin == 0);
        return finish(turns, good);
      }
      const auto of_round = turns.subspan(begin, calls);
      if (settings_.on_error == "fail" && any_failed(of_round)) return {.answer = failed(turns)};
      std::vector<size_t> found = replied(of_round);
      const size_t enough = settings_.min_successful_responses;
      if (!all_done(of_round) && (enough == 0 || found.size() < enough)) return {};
      for (size_t& i : found) i += begin;
      shuffle(found, begin);
      if (const size_t most = settings_.max_responses_per_round; most > 0 && found.size() > most)
        found.resize(most);
      if (found.empty()) return finish(turns, good);
      good = std::move(found);
      begin += calls;
    }
    if (begin == turns.size()) return may_call ? synthesis(turns, good) : finish(turns, good);
    const Turn& last = turns[begin];
    if (!last.is_done()) return {};
    if (last.reply() != nullptr && !last.reply()->is_empty()) return finish(turns, {begin});
    if (settings_.on_error == "fail") return {.answer = failed(turns)};
    return finish(turns, good);
  }

  std::optional<Extension> extension(std::span<const Turn> turns) const override {
    if (!settings_.include_intermediate_responses) return std::nullopt;
    return Extension{"reasoning_mom_responses", describe_rounds(turns)};
  }

 private:
  Call call_of(const std::string& model) const {
    Call out;
    out.model = model;
    out.offers_tools = false;
    if (settings_.temperature > 0) out.temperature = settings_.temperature;
    out.max_tokens = settings_.max_completion_tokens;
    return out;
  }

  std::vector<std::string> models_of_round(size_t calls) const {
    const std::string& how = settings_.model_distribution;
    std::vector<std::string> out;
    if (how.empty() || how == "weighted") {
      const std::vector<size_t> counts = weighted_counts(voices_, calls);
      for (size_t i = 0; i < counts.size(); ++i) out.insert(out.end(), counts[i], voices_[i].model);
      return out;
    }
    for (size_t i = 0; i < calls; ++i)
      out.push_back(voices_[how == "first_only" ? 0 : i % voices_.size()].model);
    return out;
  }

  std::string prompt(std::span<const Turn> turns, const std::vector<size_t>& good) const {
    size_t bytes = SIZE_MAX;
    if (settings_.compaction_strategy == "last_n_tokens")
      bytes = settings_.compaction_tokens * kBytesPerToken;
    const std::string& text = settings_.synthesis_template;
    return synthesis_prompt(text.empty() ? kInstruction : text, conversation_,
                            quote_replies(turns, good, settings_.include_reasoning, bytes), "",
                            contract_);
  }

  Step round(std::span<const Turn> turns, size_t calls, const std::vector<size_t>& good,
             bool is_first) const {
    Step out;
    out.limit = std::chrono::seconds(settings_.round_timeout_seconds);
    for (const std::string& model : models_of_round(calls)) {
      out.calls.push_back(call_of(model));
      if (!is_first) out.calls.back().prompt = prompt(turns, good);
    }
    return out;
  }

  Step synthesis(std::span<const Turn> turns, const std::vector<size_t>& good) const {
    Step out;
    out.limit = std::chrono::seconds(settings_.round_timeout_seconds);
    Call call = call_of(settings_.synthesis_model.empty() ? voices_.front().model
                                                          : settings_.synthesis_model);
    call.purpose = Purpose::kSynthesise;
    call.prompt = prompt(turns, good);
    call.is_last = true;
    out.calls.push_back(std::move(call));
    return out;
  }

  // The order in which a model reads the replies must not favour one of them.
  void shuffle(std::vector<size_t>& which, size_t round) const {
    std::mt19937_64 random(static_cast<uint64_t>(settings_.shuffle_seed) + round);
    for (size_t i = which.size(); i > 1; --i) std::swap(which[i - 1], which[random() % i]);
  }

  Step finish(std::span<const Turn> turns, const std::vector<size_t>& good) const {
    if (good.empty()) return {.answer = failed(turns)};
    const size_t turn = *std::min_element(good.begin(), good.end());
    return {.answer = RunAnswer{turn, extended(turns[turn].reply()->body, extension(turns))}};
  }

  std::string describe_rounds(std::span<const Turn> turns) const {
    json::Writer out;
    out.begin_array();
    size_t begin = 0;
    int64_t number = 0;
    for (const double breadth : settings_.breadth_schedule) {
      const size_t calls = std::min(static_cast<size_t>(breadth), turns.size() - begin);
      if (calls == 0) break;
      out.begin_object().member("round", ++number).member("breadth", static_cast<int64_t>(calls));
      out.key("responses").raw(describe_turns(turns.subspan(begin, calls))).end_object();
      begin += calls;
    }
    return out.end_array().take();
  }

  const config::Remom settings_;
  const std::string contract_;
  const std::vector<Voice> voices_;
  const Conversation conversation_;
};

}  // namespace

std::unique_ptr<const Algorithm> remom(const config::Decision& decision, std::vector<Voice> voices,
                                       Conversation conversation) {
  return std::make_unique<Remom>(decision, std::move(voices), std::move(conversation));
}

Result<void> check_remom(const config::Decision& decision) {
  const std::vector<double> none;
  const auto& schedule =
      decision.algorithm.remom ? decision.algorithm.remom->breadth_schedule : none;
  if (schedule.empty() || schedule.size() > kRoundsMax) {
    return fail(Code::kInvalid,
                "algorithm.remom.breadth_schedule: expected 1 to {} numbers, found {}", kRoundsMax,
                schedule.size());
  }
  for (const double breadth : schedule) {
    if (breadth >= 1 && breadth <= kBreadthMax && breadth == std::floor(breadth)) continue;
    return fail(Code::kInvalid,
                "algorithm.remom.breadth_schedule: expected an integer from 1 to {}, found {}",
                kBreadthMax, breadth);
  }
  return {};
}

}  // namespace signalbox::looper
