// next() walks along the turns from the first model on, so that it needs no state of its own.

#include "router/looper/cascade.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "router/looper/outcomes.h"
#include "router/looper/prompts.h"

namespace signalbox::looper {
namespace {

using Method = CascadeSettings::Method;

constexpr double kAnyReply = 0;  // a threshold that every reply with evidence reaches
constexpr double kMarginThreshold = 0.5, kGradeThreshold = 0.7;
constexpr double kTradeoff = 0.3;

class Cascade final : public Algorithm {
 public:
  Cascade(const CascadeSettings& settings, std::vector<Voice> in_order, Conversation conversation)
      : settings_(settings), voices_(std::move(in_order)), conversation_(std::move(conversation)) {}

  Step next(std::span<const Turn> turns, bool may_call) const override {
    std::optional<size_t> best;
    size_t at = 0;
    for (size_t v = 0; v < voices_.size(); ++v) {
      const bool is_last = v + 1 == voices_.size();
      if (at == turns.size()) return may_call ? call(answer(v)) : finish(turns, best);
      const size_t answered = at++;
      if (!turns[answered].is_done()) return {};
      const Reply* reply = turns[answered].reply();
      if (reply == nullptr) {
        if (settings_.fails) return {.answer = failed(turns)};
        continue;
      }
      best = answered;
      if (is_last) break;
      double confidence = 0;
      if (settings_.method == Method::kGrade) {
        if (at == turns.size()) return may_call ? call(grade(v, *reply)) : finish(turns, best);
        const Turn& graded = turns[at++];
        if (!graded.is_done()) return {};
        confidence = graded.reply() == nullptr ? -1 : read_grade(graded.reply()->text);
      } else {
        confidence = confidence_in(*reply, settings_);
      }
      if (confidence >= settings_.threshold) break;
    }
    return finish(turns, best);
  }

 private:
  static Step call(Call call) {
    Step out;
    out.calls.push_back(std::move(call));
    return out;
  }
  static Step finish(std::span<const Turn> turns, std::optional<size_t> best) {
    if (best) return {.answer = Result<RunAnswer>(RunAnswer{*best})};
    return {.answer = failed(turns)};
  }
  Call answer(size_t v) const {
    const bool is_last = v + 1 == voices_.size();
    return {.model = voices_[v].model,
            .needs_logprobs = !is_last && settings_.method != Method::kGrade,
            .is_last = is_last};
  }
  Call grade(size_t v, const Reply& reply) const {
    return {.model = voices_[v].model,
            .purpose = Purpose::kVerify,
            .prompt = render(kGradePrompt,
                             {{"question", conversation_.transcript}, {"answer", reply.text}}),
            .keeps_system = false,
            .offers_tools = false};
  }

  const CascadeSettings settings_;
  const std::vector<Voice> voices_;
  const Conversation conversation_;
};

double from_logprob(double mean) {
  return std::clamp((mean + 3) / 3, 0.0, 1.0);
}

double from_margin(double mean) {
  return mean <= 0 ? 0 : 1 - std::exp(-mean / 3);
}

double quality_of(const Voice& voice) {
  if (voice.quality) return *voice.quality;
  // Without a score, a model of 70 thousand million parameters counts as the best.
  return voice.size > 0 ? 0.3 + 0.7 * std::min(voice.size / 70'000, 1.0) : 0.5;
}

// Quality against cheapness, both from 0 to 1; an unknown price counts one half.
std::vector<double> values_of(const std::vector<Voice>& voices, double tradeoff) {
  std::optional<double> least, most;
  for (const Voice& voice : voices) {
    if (!voice.price) continue;
    least = std::min(least.value_or(*voice.price), *voice.price);
    most = std::max(most.value_or(*voice.price), *voice.price);
  }
  std::vector<double> out;
  for (const Voice& voice : voices) {
    double cheapness = 0.5;
    if (voice.price)
      cheapness = *most > *least ? 1 - (*voice.price - *least) / (*most - *least) : 1;
    out.push_back((1 - tradeoff) * quality_of(voice) + tradeoff * cheapness);
  }
  return out;
}

std::vector<Voice> sorted_by(const std::vector<double>& keys, const std::vector<Voice>& voices) {
  std::vector<size_t> order(voices.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&keys](size_t a, size_t b) { return keys[a] < keys[b]; });
  std::vector<Voice> out;
  for (const size_t i : order) out.push_back(voices[i]);
  return out;
}

CascadeSettings confidence_settings(const config::ConfidenceCascade& from) {
  CascadeSettings out;
  const std::string_view method = from.confidence_method;
  if (method == "margin") out.method = Method::kMargin;
  if (method == "hybrid") out.method = Method::kHybrid;
  if (method == "self_verify" || method == "automix_entailment") out.method = Method::kGrade;
  out.threshold = from.threshold;
  if (out.threshold <= 0) {
    out.threshold = out.method == Method::kLogprob ? kAnyReply
                    : out.method == Method::kGrade ? kGradeThreshold
                                                   : kMarginThreshold;
  }
  if (from.hybrid_weights.logprob_weight > 0)
    out.logprob_weight = from.hybrid_weights.logprob_weight;
  if (from.hybrid_weights.margin_weight > 0) out.margin_weight = from.hybrid_weights.margin_weight;
  out.only_words = from.token_filter == "tool_call_args";
  out.fails = from.on_error == "fail";
  return out;
}

}  // namespace

double read_size(std::string_view text) {
  while (!text.empty() && ascii::is_space(text.front())) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return 0;
  std::string unit = ascii::lower_case(text.substr(static_cast<size_t>(end - text.data())));
  while (!unit.empty() && ascii::is_space(unit.back())) unit.pop_back();
  if (unit.empty() || unit == "b") return value * 1000;
  if (unit == "m") return value;
  return unit == "k" ? value / 1000 : 0;
}

CascadeSettings cascade_settings(const config::Algorithm& algorithm) {
  if (algorithm.type != "automix")
    return confidence_settings(algorithm.confidence.value_or(config::ConfidenceCascade{}));
  const config::AutoMix& automix = *algorithm.automix;
  CascadeSettings out;
  out.threshold = automix.verification_threshold;
  const bool grades = automix.enable_self_verification || !automix.use_logprob_verification;
  if (grades) out.method = Method::kGrade;
  return out;
}

std::vector<Voice> cascade_order(const config::Algorithm& algorithm, std::vector<Voice> voices) {
  std::vector<double> keys;
  if (algorithm.type == "automix") {
    const config::AutoMix& automix = *algorithm.automix;
    keys = values_of(voices, automix.cost_aware_routing ? automix.cost_quality_tradeoff : 0);
    std::vector<Voice> out = sorted_by(keys, voices);
    out.resize(std::min(out.size(), size_t{automix.max_escalations} + 1));
    return out;
  }
  const config::ConfidenceCascade settings =
      algorithm.confidence.value_or(config::ConfidenceCascade{});
  if (settings.escalation_order == "declared") return voices;
  if (settings.escalation_order == "automix") {
    const double given = settings.cost_quality_tradeoff;
    keys = values_of(voices, given > 0 ? given : kTradeoff);
  } else {
    for (const Voice& voice : voices)
      keys.push_back(settings.escalation_order == "cost" ? voice.price.value_or(HUGE_VAL)
                                                         : voice.size);
  }
  return sorted_by(keys, voices);
}

double confidence_in(const Reply& reply, const CascadeSettings& settings) {
  const auto& certainty =
      settings.only_words && reply.word_certainty ? reply.word_certainty : reply.certainty;
  if (!certainty) return -1;
  if (settings.method == Method::kLogprob) return from_logprob(certainty->logprob);
  if (!certainty->margin) return -1;
  if (settings.method == Method::kMargin) return from_margin(*certainty->margin);
  return settings.logprob_weight * from_logprob(certainty->logprob) +
         settings.margin_weight * from_margin(*certainty->margin);
}

std::unique_ptr<const Algorithm> cascade(const CascadeSettings& settings,
                                         std::vector<Voice> in_order, Conversation conversation) {
  return std::make_unique<Cascade>(settings, std::move(in_order), std::move(conversation));
}

}  // namespace signalbox::looper
