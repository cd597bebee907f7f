// A model's value is the algorithm's score plus the adjustment by outcomes. Adaptation proposes the
// model of the greatest value; protection compares its value with that of the conversation's model.
// An experiment compares other values, so that models with few verdicts are tried, and bad
// models less and less: each value is a sample of the distribution that the verdicts leave
// (Thompson sampling), or its upper bound (LinUCB).

#include "router/learning/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace signalbox::learning {
namespace {

/// The greatest bonus: as much as outcomes can add. A sample of linear_thompson differs from the
/// expected value by at most twice as much.
constexpr double kBonusMost = 0.5;

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

std::vector<double> tried_values_of(const Report& report) {
  std::vector<double> out;
  for (const Report::Value& value : report.values)
    out.push_back(value.score + *value.tried - kNeutral);
  return out;
}

bool is_experiment(const Report& report) {
  return report.values.front().tried.has_value();
}

Report::Value value_of(const Option& option, const Known& known, const Rules& rules,
                       const std::optional<Features>& features) {
  Report::Value out{std::string(option.model), option.score.value_or(kNeutral),
                    known.tally.score() - kNeutral, known.tally};
  if (!features) return out;
  static const Regression kNothing;
  const Regression& regression = known.regression ? *known.regression : kNothing;
  const Regression::Estimate estimate = regression.estimate(*features);
  out.with_features = regression.count;
  out.adjustment = estimate.expected - kNeutral;
  out.bonus = std::min(rules.exploration * estimate.deviation, kBonusMost);
  return out;
}

/// True if a verdict has a part in the value.
bool has_verdicts(const Report::Value& value) {
  return value.bonus ? value.with_features > 0 : value.tally.sum() > 0;
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
  const bool any = std::any_of(report.values.begin(), report.values.end(), has_verdicts);
  const size_t known = any ? best_of(values_of(report, true), base) : base;
  const size_t best = is_experiment(report) ? best_of(tried_values_of(report), base) : known;
  const std::string_view reason = best != known  ? "explored"
                                  : !any         ? "no_outcomes"
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
    if (options[i].model == last.model && options[i].upstream_name == last.upstream_name) return i;
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

/// Adds the values that the experiment compares to the report, if the request may be an experiment.
void experiment(std::span<const Option> options, std::string_view decision,
                const Situation& situation, const Rules& rules, std::optional<uint32_t> seed,
                Report& report) {
  if (!seed || rules.strategy == Strategy::kScores || !rules.proposes() || situation.in_tool_loop)
    return;
  if (rules.holds() && !unprotected(options, decision, situation, rules)) return;
  if (rules.strategy != Strategy::kLinUcb) report.seed = seed;
  std::mt19937_64 random(*seed);
  for (Report::Value& value : report.values) {
    const double expected = kNeutral + value.adjustment, bonus = value.bonus.value_or(0);
    if (rules.strategy == Strategy::kSampling) {
      value.tried = value.tally.sample(random);
    } else if (rules.strategy == Strategy::kLinUcb) {
      value.tried = expected + bonus;
    } else {
      const double drawn = std::normal_distribution<double>(0, 1)(random) * bonus;
      value.tried = expected + std::clamp(drawn, -2 * kBonusMost, 2 * kBonusMost);
    }
  }
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
              const Situation& situation, const Rules& rules,
              const std::optional<Features>& features, std::optional<uint32_t> seed,
              Report& report) {
  report = begin_report(situation, rules);
  report.features = features;
  for (const Option& option : options) {
    const Known known = situation.outcomes->of(std::string(decision), std::string(option.model));
    report.values.push_back(value_of(option, known, rules, report.features));
  }
  experiment(options, decision, situation, rules, seed, report);
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
  std::string out = !explores() ? "outcomes:"
                    : seed      ? "tried by samples of outcomes:"
                                : "tried by upper bounds of outcomes:";
  for (const Value& value : values) {
    const double adjustment = explores() ? *value.tried - kNeutral : value.adjustment;
    out += fmt::format(" {} {:.3f}{:+.3f}", value.model, value.score, adjustment);
  }
  return out;
}

namespace {

/// Leaves out what is 0.
void write(const Features& features, json::Writer& out) {
  out.key("features").begin_object();
  for (size_t i = 0; i < Features::kSize; ++i) {
    if (features.steps[i] > 0) out.member(Features::name_of(i), features.share(i));
  }
  out.end_object();
}

}  // namespace

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
  if (report.seed) out.member("seed", int64_t{*report.seed});
  if (!report.values.empty() && is_experiment(report)) out.member("explored", report.explores());
  if (report.features) write(*report.features, out);
  out.key("scores").begin_array();
  for (const Report::Value& value : report.values) {
    out.begin_object().member("model", value.model).member("score", value.score);
    out.member("adjustment", value.adjustment);
    if (value.bonus) {
      out.member("expected", kNeutral + value.adjustment).member("bonus", *value.bonus);
      out.member("with_features", value.with_features);
    }
    if (value.tried) out.member(report.seed ? "sample" : "upper_bound", *value.tried);
    for (size_t i = 0; i < kVerdicts.size(); ++i) {
      if (value.tally.counts[i] > 0)
        out.member(kVerdicts[i], static_cast<int64_t>(value.tally.counts[i]));
    }
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace signalbox::learning
