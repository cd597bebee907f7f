// Tests the rules of the decision engine by examples, and by properties that hold for random trees
// over random signals.

#include "router/routing/decision/engine.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace signalbox::decision {
namespace {

using config::Rule;
using Operator = config::Rule::Operator;
using Strategy = config::Routing::Strategy;

// Leaves are named "s0", "s1", ... after their signal, or "gone" if the signal does not exist.
Rule leaf(int signal, std::string type = "domain") {
  std::string name = signal < 0 ? "gone" : fmt::format("s{}", signal);
  return {Operator::kLeaf, std::move(type), std::move(name), {}, 0};
}
Rule all(std::vector<Rule> conditions) {
  return {Operator::kAnd, "", "", std::move(conditions), 0};
}
Rule any(std::vector<Rule> conditions) {
  return {Operator::kOr, "", "", std::move(conditions), 0};
}
Rule no(Rule condition) {
  return {Operator::kNot, "", "", {std::move(condition)}, 0};
}

config::Decision make(std::string name, int32_t priority, Rule rules) {
  config::Decision out;
  out.name = std::move(name);
  out.priority = priority;
  out.rules = std::move(rules);
  return out;
}

uint32_t number_of(const Rule& rule) {
  return rule.name == "gone" ? kNoSignal : static_cast<uint32_t>(std::stoul(rule.name.substr(1)));
}

const Value kYes = Value::known(true, 1);
const Value kNo = Value::known(false, 0);
const Value kUnknown = Value::unknown();
Value yes(double confidence) {
  return Value::known(true, confidence);
}

// Returns the value of one rule.
Value value_of(Rule rule, const std::vector<Value>& signals) {
  config::Routing routing;
  routing.decisions.push_back(make("d", 0, std::move(rule)));
  const Engine engine(routing, number_of);
  Scratch scratch;
  engine.evaluate(signals, scratch);
  return scratch.values[0];
}

TEST(Decision, the_confidence_of_and_is_the_mean_and_of_or_the_best) {
  const std::vector<Value> signals{yes(0.5), yes(0.75), kNo};
  EXPECT_EQ(value_of(all({leaf(0), leaf(1)}), signals).confidence_low, 0.625);
  EXPECT_EQ(value_of(any({leaf(0), leaf(1), leaf(2)}), signals).confidence_low, 0.75);
  EXPECT_FALSE(value_of(all({leaf(0), leaf(2)}), signals).can_match());
  EXPECT_EQ(value_of(no(leaf(2)), signals).confidence_low, 1);
  EXPECT_FALSE(value_of(no(leaf(0)), signals).can_match());
}

TEST(Decision, rules_without_conditions_match_with_confidence_0) {
  const Value value = value_of(all({}), {});
  EXPECT_TRUE(value.is_match());
  EXPECT_EQ(value.confidence_high, 0);
  EXPECT_FALSE(value_of(any({}), {}).can_match());
}

TEST(Decision, unknown_signals_give_bounds) {
  const std::vector<Value> signals{yes(0.6), kUnknown, kNo};
  const Value both = value_of(all({leaf(0), leaf(1)}), signals);
  EXPECT_FALSE(both.is_match());
  EXPECT_TRUE(both.can_match());
  EXPECT_EQ(both.confidence_low, 0.3);
  EXPECT_EQ(both.confidence_high, 0.8);
  EXPECT_TRUE(value_of(all({leaf(2), leaf(1)}), signals).is_settled());
  const Value either = value_of(any({leaf(0), leaf(1)}), signals);
  EXPECT_TRUE(either.is_match());
  EXPECT_EQ(either.confidence_low, 0.6);
  EXPECT_EQ(either.confidence_high, 1);
  EXPECT_FALSE(value_of(no(leaf(1)), signals).is_settled());
}

TEST(Decision, neither_an_unbuilt_signal_nor_its_negation_matches) {
  const std::vector<Value> signals{kYes, kNo};
  EXPECT_FALSE(value_of(leaf(-1), signals).can_match());
  EXPECT_FALSE(value_of(no(leaf(-1)), signals).can_match());
  EXPECT_FALSE(value_of(all({leaf(0), no(leaf(-1))}), signals).can_match());
  EXPECT_TRUE(value_of(any({leaf(-1), leaf(0)}), signals).is_match());
  EXPECT_TRUE(value_of(no(all({leaf(-1), leaf(1)})), signals).is_match());
  EXPECT_FALSE(value_of(no(any({leaf(-1), leaf(1)})), signals).can_match());
}

Outcome outcome_of(Strategy strategy, std::vector<config::Decision> decisions,
                   const std::vector<Value>& signals) {
  config::Routing routing;
  routing.strategy = strategy;
  routing.decisions = std::move(decisions);
  Scratch scratch;
  return Engine(routing, number_of).evaluate(signals, scratch);
}

TEST(Decision, priority_decides_before_confidence_and_confidence_before_name) {
  const std::vector<Value> signals{yes(0.5), yes(0.9)};
  const auto index = [&](Strategy strategy, std::vector<config::Decision> decisions) {
    return outcome_of(strategy, std::move(decisions), signals).decision;
  };
  EXPECT_EQ(index(Strategy::kPriority, {make("a", 1, leaf(1)), make("b", 2, leaf(0))}), 1);
  EXPECT_EQ(index(Strategy::kConfidence, {make("a", 1, leaf(1)), make("b", 2, leaf(0))}), 0);
  EXPECT_EQ(index(Strategy::kPriority, {make("a", 1, leaf(0)), make("b", 1, leaf(1))}), 1);
  EXPECT_EQ(index(Strategy::kConfidence, {make("a", 1, leaf(0)), make("b", 2, leaf(0))}), 1);
  EXPECT_EQ(index(Strategy::kPriority, {make("b", 1, leaf(0)), make("a", 1, leaf(0))}), 1);
  EXPECT_EQ(index(Strategy::kPriority, {}), kNoDecision);
}

// The cases are those of the Semantic Router's newest order.
TEST(Decision, the_tier_comes_first_and_a_decision_without_one_has_the_tier_0) {
  const std::vector<Value> signals{yes(0.5), yes(0.9)};
  const auto in_tier = [](int32_t tier, config::Decision decision) {
    decision.tier = tier;
    return decision;
  };
  for (const Strategy strategy : {Strategy::kPriority, Strategy::kConfidence, Strategy::kFusion}) {
    const auto index = [&](std::vector<config::Decision> decisions) {
      return outcome_of(strategy, std::move(decisions), signals).decision;
    };
    EXPECT_EQ(index({in_tier(2, make("a", 9, leaf(1))), in_tier(1, make("b", 1, leaf(0)))}), 1);
    EXPECT_EQ(index({in_tier(1, make("a", 9, leaf(1))), make("b", 1, leaf(0))}), 1);
    EXPECT_EQ(index({in_tier(1, make("a", 9, leaf(1))), make("b", 1, all({}))}), 1)
        << "it hides the decisions of higher tiers";
    EXPECT_EQ(index({make("a", 9, all({})), make("b", 1, leaf(0))}), 1)
        << "without conditions it ranks last in its tier";
    EXPECT_EQ(index({make("b", 1, all({})), make("a", 1, all({}))}), 1);
  }
  const auto in_one_tier = [&](Strategy strategy) {
    std::vector<config::Decision> decisions{in_tier(1, make("a", 2, leaf(0))),
                                            in_tier(1, make("b", 1, leaf(1)))};
    return outcome_of(strategy, std::move(decisions), signals).decision;
  };
  EXPECT_EQ(in_one_tier(Strategy::kPriority), 0) << "the strategy holds in tiers, too";
  EXPECT_EQ(in_one_tier(Strategy::kConfidence), 1);
}

// The cases are those of the Semantic Router. "a" has the priority, "b" the greater score.
TEST(Decision, confidences_are_compared_only_if_each_is_one_score_of_the_same_kind) {
  Value failed = kYes;
  failed.by_error = true;
  const std::vector<Value> signals{yes(0.5), yes(0.9), yes(0.8), kNo, failed};
  const auto winner = [&](Rule a, Rule b, std::vector<config::Decision> more = {}) {
    more.insert(more.begin(), {make("a", 2, std::move(a)), make("b", 1, std::move(b))});
    return outcome_of(Strategy::kConfidence, std::move(more), signals).decision;
  };
  const auto keyword = [](int signal) { return leaf(signal, "keyword"); };
  const auto similar = [](int signal) { return leaf(signal, "embedding"); };
  EXPECT_EQ(winner(leaf(0), leaf(1)), 1);
  EXPECT_EQ(winner(leaf(0), keyword(1)), 0) << "a keyword has no score";
  EXPECT_EQ(winner(leaf(0), similar(1)), 0) << "a similarity is no probability";
  EXPECT_EQ(winner(leaf(0), leaf(1, "jailbreak")), 0) << "its scores are of several kinds";
  EXPECT_EQ(winner(leaf(0), all({leaf(1), leaf(2)})), 0) << "it rests on two scores";
  EXPECT_EQ(winner(leaf(0), all({leaf(1), keyword(2), no(keyword(3))})), 1)
      << "keywords and NOT have no weight";
  EXPECT_EQ(winner(leaf(2), all({leaf(0), keyword(1)})), 0);
  EXPECT_EQ(winner(leaf(0), any({keyword(1), leaf(1)})), 1) << "the scored condition counts";
  EXPECT_EQ(winner(leaf(0), any({keyword(1), leaf(3)})), 0) << "only the keyword matches";
  EXPECT_EQ(winner(leaf(0), any({leaf(1), similar(3)})), 0) << "it may rest on either kind";
  EXPECT_EQ(winner(leaf(0), all({leaf(1), leaf(4)})), 0) << "a match by an error is no evidence";
  EXPECT_EQ(winner(leaf(0), leaf(1), {make("c", 0, keyword(2))}), 0)
      << "one without a score suffices";
  EXPECT_EQ(winner(leaf(0), leaf(1), {make("c", 0, keyword(3)), make("d", 0, all({}))}), 1)
      << "it does not match, and d has no conditions";
}

TEST(Decision, a_condition_that_stays_unknown_is_no_score) {
  const auto winner = [](Strategy strategy, int32_t priority, const Value& judged) {
    const Rule by_word = any({leaf(0, "keyword"), leaf(1, "classifier")});
    return outcome_of(strategy, {make("a", priority, by_word), make("b", 0, leaf(2, "preference"))},
                      {kYes, judged, yes(0.85)})
        .decision;
  };
  for (const Value& judged : {kNo, kUnknown, Value::unavailable()}) {
    EXPECT_EQ(winner(Strategy::kConfidence, 1, judged), 0) << "a rests on the keyword";
    EXPECT_EQ(winner(Strategy::kPriority, 0, judged), 0) << "the name decides";
  }
  EXPECT_EQ(winner(Strategy::kConfidence, 1, yes(0.8)), 1) << "two probabilities";
}

TEST(Decision, rules_that_must_be_known_keep_the_outcome_open) {
  config::Decision guard = make("guard", 1, all({leaf(0), leaf(1)}));
  guard.rules.on_error = Rule::OnError::kUnknown;
  config::Routing routing;
  routing.decisions = {guard, make("route", 9, leaf(2))};
  const Engine engine(routing, number_of);
  Scratch scratch;
  const auto check = [&](const std::vector<Value>& signals, bool fixed, int32_t unresolved) {
    const Outcome outcome = engine.evaluate(signals, scratch);
    EXPECT_EQ(outcome.decision, 1);
    EXPECT_EQ(outcome.fixed, fixed);
    EXPECT_EQ(outcome.unresolved, unresolved);
    std::vector<bool> needed(3);
    engine.mark_needed(signals, scratch, outcome, needed);
    EXPECT_EQ(needed, (std::vector<bool>{false, !fixed, false}));
  };
  check({kYes, kUnknown, kYes}, false, 0);
  check({kYes, Value::unavailable(), kYes}, true, 0);
  check({kNo, kUnknown, kYes}, true, kNoDecision);
  check({kYes, kNo, kYes}, true, kNoDecision);
  EXPECT_EQ(engine.evaluate(std::vector{kYes, kUnknown, kYes}, scratch, Among::kGuards).unresolved,
            kNoDecision)
      << "only guards count for a model that the client names";
}

// Signals 0 and 3 read the request, 1 and 4 are similarities, 2 and 5 are classes.
uint32_t stage_of(uint32_t signal) {
  return signal % 3;
}

TEST(Decision, fusion_prefers_the_cheapest_evidence_that_matches) {
  config::Routing routing;
  routing.strategy = Strategy::kFusion;
  routing.decisions = {make("keyword", 0, leaf(0)), make("similar", 5, leaf(1)),
                       make("class", 9, any({leaf(2), all({leaf(0), leaf(2)})}))};
  Scratch scratch;
  const auto outcome = [&](const std::vector<Value>& signals) {
    return Engine(routing, number_of, stage_of).evaluate(signals, scratch);
  };
  EXPECT_EQ(outcome({yes(0.6), yes(0.9), yes(1)}).decision, 0);
  EXPECT_EQ(outcome({kNo, yes(0.9), yes(1)}).decision, 1);
  EXPECT_EQ(outcome({kNo, kNo, yes(0.5)}).decision, 2);
  // A keyword decides alone, and so does a similarity if there is no keyword.
  EXPECT_TRUE(outcome({yes(0.6), kUnknown, kUnknown}).fixed);
  EXPECT_TRUE(outcome({kNo, yes(0.6), kUnknown}).fixed);
  EXPECT_FALSE(outcome({kNo, kUnknown, yes(1)}).fixed);
}

TEST(Decision, fusion_lets_high_confidence_override) {
  config::Routing routing;
  routing.strategy = Strategy::kFusion;
  routing.override_confidence = 0.9;
  routing.decisions = {make("keyword", 0, leaf(0)), make("similar", 0, leaf(1)),
                       make("class", 0, leaf(2))};
  Scratch scratch;
  const auto outcome = [&](const std::vector<Value>& signals) {
    return Engine(routing, number_of, stage_of).evaluate(signals, scratch);
  };
  EXPECT_EQ(outcome({yes(0.6), yes(0.8), yes(0.95)}).decision, 2);
  EXPECT_EQ(outcome({yes(0.6), yes(0.92), yes(0.95)}).decision, 1);
  EXPECT_EQ(outcome({yes(0.6), yes(0.8), yes(0.8)}).decision, 0);
  EXPECT_FALSE(outcome({yes(0.6), kNo, kUnknown}).fixed);
  EXPECT_TRUE(outcome({yes(0.9), kUnknown, kUnknown}).fixed);
}

TEST(Decision, the_outcome_is_fixed_as_soon_as_nothing_can_change_it) {
  const auto fixed = [](Strategy strategy, std::vector<config::Decision> decisions,
                        const std::vector<Value>& signals) {
    return outcome_of(strategy, std::move(decisions), signals).fixed;
  };
  // A lower priority cannot change the outcome, a higher one can.
  EXPECT_TRUE(
      fixed(Strategy::kPriority, {make("a", 2, leaf(0)), make("b", 1, leaf(1))}, {kYes, kUnknown}));
  EXPECT_FALSE(
      fixed(Strategy::kPriority, {make("a", 1, leaf(0)), make("b", 2, leaf(1))}, {kYes, kUnknown}));
  EXPECT_FALSE(fixed(Strategy::kConfidence, {make("a", 2, leaf(0)), make("b", 1, leaf(1))},
                     {yes(0.9), kUnknown}));
  // At full confidence, the name breaks the tie.
  EXPECT_TRUE(
      fixed(Strategy::kPriority, {make("a", 1, leaf(0)), make("b", 1, leaf(1))}, {kYes, kUnknown}));
  EXPECT_FALSE(
      fixed(Strategy::kPriority, {make("b", 1, leaf(0)), make("a", 1, leaf(1))}, {kYes, kUnknown}));
  // Nothing matches, and nothing can match.
  EXPECT_TRUE(fixed(Strategy::kPriority, {make("a", 1, all({leaf(0), leaf(1)}))}, {kNo, kUnknown}));
  EXPECT_FALSE(fixed(Strategy::kPriority, {make("a", 1, leaf(0))}, {kUnknown}));
}

TEST(Decision, only_signals_that_matter_are_needed) {
  config::Routing routing;
  routing.decisions = {make("low", 1, leaf(0)), make("sure", 2, leaf(1)),
                       make("high", 3, any({all({leaf(2), leaf(3)}), leaf(4)}))};
  const Engine engine(routing, number_of);
  const std::vector<Value> signals{kUnknown, kYes, kNo, kUnknown, kUnknown};
  Scratch scratch;
  const Outcome outcome = engine.evaluate(signals, scratch);
  EXPECT_FALSE(outcome.fixed);
  EXPECT_EQ(outcome.decision, 1);
  std::vector<bool> needed(signals.size());
  engine.mark_needed(signals, scratch, outcome, needed);
  EXPECT_EQ(needed, (std::vector<bool>{false, false, false, false, true}));
}

// --- random trees ---

constexpr int kSignals = 6;

constexpr const char* kTypes[] = {"domain",    "domain",  "domain",
                                  "embedding", "keyword", "jailbreak"};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }

  Rule rule(int depth) {
    const int kind = depth == 0 ? 0 : below(4);
    if (kind == 0) return leaf(below(kSignals + 1) - 1, kTypes[static_cast<size_t>(below(6))]);
    if (kind == 1) return no(rule(depth - 1));
    std::vector<Rule> conditions;
    for (int n = below(4); n > 0; --n) conditions.push_back(rule(depth - 1));
    return kind == 2 ? all(std::move(conditions)) : any(std::move(conditions));
  }

  // Uses few different confidences, so that ties occur.
  Value value() {
    if (below(2) == 0) return kNo;
    Value out = yes(below(5) / 4.0);
    out.by_error = below(12) == 0;
    return out;
  }

  config::Routing routing() {
    config::Routing out;
    out.strategy = static_cast<Strategy>(below(3));
    if (below(2) == 0) out.override_confidence = below(5) / 4.0;
    for (int n = below(6); n > 0; --n) {
      out.decisions.push_back(make(std::string(1, static_cast<char>('a' + n)), below(3), rule(3)));
      out.decisions.back().tier = below(2);
    }
    return out;
  }

 private:
  std::mt19937 engine_;
};

// Implements the definition as plainly as possible. Returns 0, 1 or 2 for no, unavailable and yes,
// and the confidence.
std::pair<int, double> plain(const Rule& rule, const std::vector<Value>& signals) {
  if (rule.op == Operator::kLeaf) {
    if (rule.name == "gone") return {1, 0};
    const Value& value = signals[number_of(rule)];
    return {value.is_match() ? 2 : 0, value.confidence_low};
  }
  std::vector<std::pair<int, double>> children;
  for (const Rule& condition : rule.conditions) children.push_back(plain(condition, signals));
  if (rule.op == Operator::kNot) return {2 - children[0].first, 1};
  double sum = 0;
  double best = 0;
  int least = 2;
  int most = 0;
  for (const auto& [truth, confidence] : children) {
    sum += confidence;
    if (truth == 2) best = std::max(best, confidence);
    least = std::min(least, truth);
    most = std::max(most, truth);
  }
  if (rule.op == Operator::kOr) return {most, best};
  return {least, children.empty() ? 0 : sum / static_cast<double>(children.size())};
}

TEST(DecisionProperty, full_evaluation_agrees_with_the_definition) {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    const Rule rule = random.rule(4);
    std::vector<Value> signals;
    for (int i = 0; i < kSignals; ++i) signals.push_back(random.value());
    const auto [truth, confidence] = plain(rule, signals);
    const Value value = value_of(rule, signals);
    ASSERT_EQ(value.is_match(), truth == 2);
    ASSERT_EQ(static_cast<int>(value.low), truth);
    ASSERT_TRUE(value.is_settled());
    if (truth == 2) {
      ASSERT_EQ(value.confidence_low, confidence);
    }
  }
}

// The scores that a match rests on.
struct PlainEvidence {
  int count = 0;
  double sum = 0;
  double mean() const { return count == 0 ? 0 : sum / count; }
};

PlainEvidence plain_evidence(const Rule& rule, const std::vector<Value>& signals) {
  PlainEvidence out;
  if (rule.op == Operator::kNot || plain(rule, signals).first != 2) return out;
  if (rule.op == Operator::kLeaf) {
    const Value& value = signals[number_of(rule)];
    if (value.by_error) return {2, 0};
    if (rule.type != "keyword") out = {1, value.confidence_low};
    return out;
  }
  for (const Rule& condition : rule.conditions) {
    const PlainEvidence each = plain_evidence(condition, signals);
    if (rule.op == Operator::kAnd) {
      out.count += each.count;
      out.sum += each.sum;
    } else if (each.count > 0 && (out.count == 0 || each.mean() > out.mean())) {
      out = each;
    }
  }
  return out;
}

void add_types(const Rule& rule, std::set<std::string>& out) {
  if (rule.op == Operator::kLeaf && rule.type != "keyword") out.insert(rule.type);
  if (rule.op == Operator::kNot) return;
  for (const Rule& condition : rule.conditions) add_types(condition, out);
}

// The decision that wins by the definition of the order, for the strategies priority and
// confidence.
int32_t plain_winner(const config::Routing& routing, const std::vector<Value>& signals) {
  const auto& decisions = routing.decisions;
  std::vector<size_t> matching;
  for (size_t d = 0; d < decisions.size(); ++d)
    if (plain(decisions[d].rules, signals).first == 2) matching.push_back(d);
  if (matching.empty()) return kNoDecision;
  int32_t tier = INT32_MAX;
  for (const size_t d : matching) tier = std::min(tier, decisions[d].tier);
  std::set<std::string> types;
  bool compared = true;
  for (const size_t d : matching) {
    if (decisions[d].tier != tier || config::always_matches(decisions[d])) continue;
    add_types(decisions[d].rules, types);
    compared = compared && plain_evidence(decisions[d].rules, signals).count == 1;
  }
  compared = compared && types.size() <= 1 && !types.contains("jailbreak");
  const auto rank = [&](size_t d) {
    const config::Decision& each = decisions[d];
    const double score = compared ? plain_evidence(each.rules, signals).mean() : 0;
    const bool by_priority = routing.strategy == Strategy::kPriority;
    return std::tuple(each.tier, config::always_matches(each), by_priority ? -each.priority : 0,
                      -score, -each.priority, each.name);
  };
  return static_cast<int32_t>(
      *std::ranges::min_element(matching, [&](size_t a, size_t b) { return rank(a) < rank(b); }));
}

TEST(DecisionProperty, full_evaluation_has_the_winner_of_the_definition) {
  Random random(5);
  int by_confidence = 0;
  for (int round = 0; round < 5'000; ++round) {
    config::Routing routing = random.routing();
    if (routing.strategy == Strategy::kFusion) routing.strategy = Strategy::kConfidence;
    std::vector<Value> signals;
    for (int i = 0; i < kSignals; ++i) signals.push_back(random.value());
    Scratch scratch;
    const int32_t winner = Engine(routing, number_of).evaluate(signals, scratch).decision;
    ASSERT_EQ(winner, plain_winner(routing, signals));
    for (config::Decision& decision : routing.decisions) decision.rules = no(no(decision.rules));
    by_confidence += Engine(routing, number_of).evaluate(signals, scratch).decision != winner;
  }
  EXPECT_GT(by_confidence, 50) << "without scores, others win";
}

TEST(DecisionProperty, stopping_early_gives_the_outcome_of_full_evaluation) {
  Random random(2);
  int stopped_early = 0;
  for (int round = 0; round < 20'000; ++round) {
    const config::Routing routing = random.routing();
    const Engine engine(routing, number_of, stage_of);
    std::vector<Value> truth;
    for (int i = 0; i < kSignals; ++i) truth.push_back(random.value());
    Scratch scratch;
    const Outcome full = engine.evaluate(truth, scratch);
    ASSERT_TRUE(full.fixed);

    std::vector<Value> known(kSignals, kUnknown);
    Outcome outcome = engine.evaluate(known, scratch);
    for (int computed = 0; !outcome.fixed; ++computed) {
      ASSERT_LT(computed, kSignals);
      std::vector<bool> needed(kSignals);
      engine.mark_needed(known, scratch, outcome, needed);
      const auto next =
          static_cast<size_t>(std::find(needed.begin(), needed.end(), true) - needed.begin());
      ASSERT_LT(next, needed.size()) << "not fixed, and nothing is needed";
      known[next] = truth[next];
      outcome = engine.evaluate(known, scratch);
    }
    stopped_early += std::count_if(known.begin(), known.end(),
                                   [](const Value& v) { return !v.is_settled(); }) > 0;
    ASSERT_EQ(outcome.decision, full.decision);
    ASSERT_LE(outcome.confidence, full.confidence);
  }
  EXPECT_GT(stopped_early, 1000);
}

TEST(DecisionProperty, signals_that_stay_unknown_count_as_unavailable) {
  Random random(6);
  int open = 0;
  for (int round = 0; round < 20'000; ++round) {
    const config::Routing routing = random.routing();
    const Engine engine(routing, number_of, stage_of);
    std::vector<Value> partly;
    for (int i = 0; i < kSignals; ++i)
      partly.push_back(random.below(3) == 0 ? kUnknown : random.value());
    Scratch scratch;
    const Outcome outcome = engine.evaluate(partly, scratch);
    open += !outcome.fixed;
    for (Value& value : partly) {
      if (!value.is_settled()) value = Value::unavailable();
    }
    ASSERT_EQ(outcome.decision, engine.evaluate(partly, scratch).decision);
  }
  EXPECT_GT(open, 1000);
}

TEST(DecisionProperty, bounds_hold_for_all_values_of_unknown_signals) {
  Random random(3);
  for (int round = 0; round < 20'000; ++round) {
    const Rule rule = random.rule(4);
    std::vector<Value> truth;
    std::vector<Value> partly;
    for (int i = 0; i < kSignals; ++i) {
      truth.push_back(random.value());
      partly.push_back(random.below(2) == 0 ? truth.back() : kUnknown);
    }
    const Value bounds = value_of(rule, partly);
    const Value exact = value_of(rule, truth);
    ASSERT_LE(bounds.low, exact.low);
    ASSERT_GE(bounds.high, exact.high);
    if (!exact.is_match()) continue;
    ASSERT_LE(bounds.confidence_low, exact.confidence_low);
    ASSERT_GE(bounds.confidence_high, exact.confidence_low);
  }
}

TEST(DecisionProperty, de_morgan_holds) {
  Random random(4);
  for (int round = 0; round < 20'000; ++round) {
    const Rule a = random.rule(3);
    const Rule b = random.rule(3);
    std::vector<Value> signals;
    for (int i = 0; i < kSignals; ++i)
      signals.push_back(random.below(3) == 0 ? kUnknown : random.value());
    const Value left = value_of(no(all({a, b})), signals);
    const Value right = value_of(any({no(a), no(b)}), signals);
    ASSERT_EQ(left.low, right.low);
    ASSERT_EQ(left.high, right.high);
    const Value left_or = value_of(no(any({a, b})), signals);
    const Value right_and = value_of(all({no(a), no(b)}), signals);
    ASSERT_EQ(left_or.low, right_and.low);
    ASSERT_EQ(left_or.high, right_and.high);
  }
}

}  // namespace
}  // namespace signalbox::decision
