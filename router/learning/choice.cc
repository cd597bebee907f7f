// A model's value is the algorithm's score plus the adjustment by outcomes. Adaptation proposes the
// model of the greatest value; protection compares its value with that of the conversation's model.
// With samples, each value is drawn from what is known of the model (Thompson sampling): models
// with few verdicts are tried, and bad ones ever less.

#include "router/learning/choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace signalbox::learning {
namespace {

constexpr double kHandoff = 0.05;
constexpr double kReadAnewMost = 0.20;
constexpr double kReadAnewBytes = 32 << 10;  // from here on, reading anew costs the most
constexpr double kEarlierSwitch = 0.04;

constexpr std::string_view kHold = "hold_current", kAllow = "allow_switch", kBypassed = "bypass";

Report begin_report(const Situation& situation, const Rules& rules) {
  Report out;
  out.scope = rules.by_session ? "session" : "conversation";
  out.source = situation.source;
  out.past = situation.past;
  return out;
}

/// The values that count: without outcomes if adaptation must not change anything.
std::vector<double> values_of(const Report& report, bool with_outcomes) {
  std::vector<double> out;
  for (const Report::Value& value : report.values)
    out.push_back(value.score + (with_outcomes ? value.adjustment : 0));
  return out;
}

std::vector<double> sampled_values_of(const Report& report) {
  std::vector<double> out;
  for (const Report::Value& value : report.values)
    out.push_back(value.score + *value.sample - kNeutral);
  return out;
}

/// The index of the greatest value; `base` among equals.
size_t best_of(const std::vector<double>& values, size_t base) {
  size_t best = base;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

size_t adapt(const Rules& rules, size_t base, Report& report) {
  if (!rules.adapts) return base;
  if (rules.adaptation == Mode::kBypass) {
    report.adaptation = {kBypassed, "decision_bypass"};
    return base;
  }
  const bool knows = std::any_of(report.values.begin(), report.values.end(),
                                 [](const auto& value) { return value.tally.sum() > 0; });
  const size_t known = knows ? best_of(values_of(report, true), base) : base;
  const size_t best = report.seed ? best_of(sampled_values_of(report), base) : known;
  const std::string_view reason = best != known  ? "explored"
                                  : !knows       ? "no_outcomes"
                                  : best == base ? "base_best"
                                                 : "outcomes_win";
  report.adaptation = {best == base ? "keep_base" : "propose_switch", reason};
  if (rules.adaptation == Mode::kApply) return best;
  report.adaptation.action = "observe";
  return base;
}

std::optional<size_t> current_of(std::span<const Option> options, const Situation& situation) {
  const Answerer& last = situation.past->last;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].model == last.model && options[i].asked_for == last.asked_for) return i;
  }
  return std::nullopt;
}

/// Why no model of the conversation is protected; nullopt: one is.
std::optional<Report::Step> unprotected(std::span<const Option> options, std::string_view decision,
                                        const Situation& situation, const Rules& rules) {
  using Step = Report::Step;
  if (situation.key.empty()) return Step{kBypassed, "missing_identity"};
  if (!situation.past) return Step{kAllow, "new_conversation"};
  if (rules.idle_max.count() > 0 && situation.idle() > rules.idle_max) return Step{kAllow, "idle"};
  if (!current_of(options, situation)) return Step{kAllow, "not_a_candidate"};
  if (!rules.keeps && situation.past->last.decision != decision)
    return Step{kAllow, "decision_changed"};
  return std::nullopt;
}

/// Draws the samples, if the request may be an experiment.
void draw_samples(std::span<const Option> options, std::string_view decision,
                  const Situation& situation, const Rules& rules, std::optional<uint32_t> seed,
                  Report& report) {
  if (!seed || !rules.samples || !rules.proposes() || situation.in_tool_loop) return;
  if (rules.holds() && !unprotected(options, decision, situation, rules)) return;
  report.seed = seed;
  std::mt19937_64 random(*seed);
  for (Report::Value& value : report.values) value.sample = value.tally.sample(random);
}

/// Applies protection to the proposal. Precondition: protection is on, or the decision keeps
/// its model.
Report::Step protect(std::span<const Option> options, size_t proposal, std::string_view decision,
                     const Situation& situation, const Rules& rules, Report& report) {
  if (const auto free = unprotected(options, decision, situation, rules)) return *free;
  const std::optional<size_t> current = current_of(options, situation);
  if (rules.keeps) return {kHold, "keep_current_model"};
  if (*current == proposal) return {kHold, "already_best"};
  const std::vector<double> values = values_of(report, rules.proposes());
  report.gain = values[proposal] - values[*current];
  report.needed = rules.switch_margin + rules.stability_weight * switch_cost(situation);
  if (situation.past->turns < rules.min_turns) return {kHold, "min_turns"};
  return *report.gain >= report.needed ? Report::Step{kAllow, "gain_sufficient"}
                                       : Report::Step{kHold, "gain_too_small"};
}

}  // namespace

double switch_cost(const Situation& situation) {
  const double read =
      std::min(static_cast<double>(situation.earlier_bytes) / kReadAnewBytes, 1.0) * kReadAnewMost;
  const uint32_t switches = situation.past ? situation.past->switches : 0;
  return kHandoff + read + kEarlierSwitch * switches;
}

size_t choose(std::span<const Option> options, size_t base, std::string_view decision,
              const Situation& situation, const Rules& rules, std::optional<uint32_t> seed,
              Report& report) {
  report = begin_report(situation, rules);
  for (const Option& option : options) {
    const Tally tally = situation.outcomes->of(std::string(decision), std::string(option.model));
    report.values.push_back({std::string(option.model), option.score.value_or(kNeutral),
                             tally.score() - kNeutral, tally});
  }
  draw_samples(options, decision, situation, rules, seed, report);
  report.base = options[base].model;
  const size_t proposal = adapt(rules, base, report);
  report.proposal = options[proposal].model;
  if (!rules.protects && !rules.keeps) return proposal;
  if (rules.protection == Mode::kBypass && !rules.keeps) {
    report.protection = {kBypassed, "decision_bypass"};
    return proposal;
  }
  report.protection = protect(options, proposal, decision, situation, rules, report);
  if (report.protection.action != kHold) return proposal;
  if (rules.holds()) return *current_of(options, situation);
  report.protection.action = "observe";
  return proposal;
}

const Answerer* tool_caller(const Situation& situation, const Rules& rules) {
  const bool pins = situation.in_tool_loop && situation.past && rules.holds();
  return pins ? &situation.past->last : nullptr;
}

Report tool_loop_report(const Situation& situation, const Rules& rules) {
  Report out = begin_report(situation, rules);
  out.protection = {kHold, "tool_loop"};
  return out;
}

std::string Report::words() const {
  if (protection.reason == "tool_loop") return "it has called the tools whose results came back";
  if (holds()) {
    std::string out = "the conversation's model";
    if (gain) {
      out += fmt::format("; {} gains {:.3f}, and a change needs {:.3f}", proposal, *gain, needed);
      if (protection.reason == "min_turns") out += " and more turns";
    }
    return out;
  }
  std::string out = explores() ? "tried by samples of outcomes:" : "outcomes:";
  for (const Value& value : values) {
    const double adjustment = explores() ? *value.sample - kNeutral : value.adjustment;
    out += fmt::format(" {} {:.3f}{:+.3f}", value.model, value.score, adjustment);
  }
  return out;
}

void write(const Report& report, json::Writer& out) {
  out.key("learning").begin_object();
  const auto step = [&out](std::string_view name, const Report::Step& what) {
    if (what.action.empty()) return;
    out.key(name).begin_object().member("action", what.action);
    out.member("reason", what.reason).end_object();
  };
  step("adaptation", report.adaptation);
  step("protection", report.protection);
  out.member("scope", report.scope).member("identity", name_of(report.source));
  if (report.past) {
    out.key("conversation").begin_object().member("model", report.past->last.model);
    out.member("decision", report.past->last.decision);
    out.member("turns", static_cast<int64_t>(report.past->turns));
    out.member("switches", static_cast<int64_t>(report.past->switches)).end_object();
  }
  if (!report.base.empty()) out.member("base", report.base).member("proposal", report.proposal);
  if (report.gain) out.member("gain", *report.gain).member("needed", report.needed);
  if (report.seed) out.member("seed", int64_t{*report.seed}).member("explored", report.explores());
  out.key("scores").begin_array();
  for (const Report::Value& value : report.values) {
    out.begin_object().member("model", value.model).member("score", value.score);
    out.member("adjustment", value.adjustment);
    if (value.sample) out.member("sample", *value.sample);
    for (size_t i = 0; i < kVerdicts.size(); ++i) {
      if (value.tally.counts[i] > 0)
        out.member(kVerdicts[i], static_cast<int64_t>(value.tally.counts[i]));
    }
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace signalbox::learning
