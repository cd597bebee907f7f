#pragma once
// Makes 200 decisions with 6 conditions each over 60 signals that are already known, some through a
// projection or a predicate. One of the last decisions matches.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "router/routing/decision/engine.h"
#include "router/routing/decision/leaf_values.h"

namespace signalbox::decision {

class ManyDecisions {
 public:
  static constexpr uint32_t kDecisions = 200;
  static constexpr uint32_t kConditions = 6;
  static constexpr uint32_t kSignals = 60;
  static constexpr int32_t kExpected = 190;

  explicit ManyDecisions(config::Routing::Strategy strategy) {
    routing_.strategy = strategy;
    add_projection();
    for (uint32_t d = 0; d < kDecisions; ++d) add_decision(d);
    auto leaf_values = LeafValues::create(routing_, kSignals, [](auto, std::string_view name) {
      return static_cast<uint32_t>(std::stoul(std::string(name.substr(1))));
    });
    SIGNALBOX_CHECK(leaf_values.has_value());
    leaf_values_.emplace(*std::move(leaf_values));
    const auto number_of = [this](const config::Rule& leaf) {
      return leaf_values_->number_of(leaf, config::Rule::OnError::kDefault);
    };
    engine_.emplace(routing_, number_of, [](uint32_t number) { return number % 3; });
    facts_.resize(kSignals);
    for (uint32_t s = 0; s < kSignals; ++s) {
      facts_[s].state = Fact::State::kKnown;
      facts_[s].matched = s % 2 == 0;
      facts_[s].confidence = s % 2 == 0 ? 0.5 + s / 200.0 : 0;
      facts_[s].score = s / 100.0;
    }
    values_.resize(leaf_values_->size());
    scores_.resize(leaf_values_->projections().scores());
  }

  Outcome decide() {
    leaf_values_->evaluate(facts_, values_, gates_, scores_);
    return engine_->evaluate(values_, scratch_);
  }

 private:
  static config::Rule leaf(const std::string& type, const std::string& name) {
    config::Rule out;
    out.op = config::Rule::Operator::kLeaf;
    out.type = type;
    out.name = name;
    return out;
  }

  void add_projection() {
    config::Score score;
    score.name = "sum";
    for (uint32_t s = 0; s < 8; ++s) {
      config::ScoreInput input;
      input.type = "keyword";
      input.name = fmt::format("s{}", s);
      input.weight = 0.1;
      score.inputs.push_back(input);
    }
    routing_.projections.scores.push_back(score);
    config::Mapping mapping;
    mapping.source = "sum";
    mapping.outputs.resize(1);
    mapping.outputs[0].name = "high";
    mapping.outputs[0].range.gte = 0.3;
    routing_.projections.mappings.push_back(mapping);
  }

  // Each decision except the expected one has a condition that does not match.
  void add_decision(uint32_t d) {
    config::Decision decision;
    decision.name = fmt::format("d{}", d);
    decision.priority = static_cast<int32_t>(d % 10);
    for (uint32_t c = 0; c < kConditions; ++c) {
      const bool even = c != 0 || static_cast<int32_t>(d) == kExpected;
      const uint32_t signal = ((d * 7 + c * 11) % (kSignals / 2)) * 2 + (even ? 0 : 1);
      config::Rule rule = leaf("keyword", fmt::format("s{}", signal));
      if (c == 4) rule.predicate = config::Predicate{.gt = {}, .gte = 0.0, .lt = {}, .lte = {}};
      if (c == 5) rule = leaf("projection", "high");
      decision.rules.conditions.push_back(rule);
    }
    routing_.decisions.push_back(std::move(decision));
  }

  config::Routing routing_;
  std::optional<LeafValues> leaf_values_;
  std::optional<Engine> engine_;
  std::vector<Fact> facts_;
  std::vector<Value> values_;
  std::vector<Value> gates_;
  std::vector<Bounds> scores_;
  Scratch scratch_;
};

}  // namespace signalbox::decision
