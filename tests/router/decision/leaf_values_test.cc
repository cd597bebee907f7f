// A value of a derived signal that is fixed early must not change when all inputs are known.

#include "router/routing/decision/leaf_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace signalbox::decision {
namespace {

constexpr uint32_t kRandomSignals = 5;

class RandomProjections {
 public:
  explicit RandomProjections(uint32_t seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }
  bool coin() { return below(2) == 0; }
  double number() { return (static_cast<double>(below(41)) - 20) / 20; }  // -1 to 1

 private:
  std::mt19937 random_;
};

std::string signal_name(uint32_t i) {
  return fmt::format("s{}", i);
}

config::Routing random_routing(RandomProjections& random) {
  config::Routing routing;
  using Source = config::ScoreInput::Source;
  const Source sources[] = {Source::kBinary, Source::kConfidence, Source::kScore};
  for (uint32_t s = 0; s < 2; ++s) {
    config::Score score{.name = fmt::format("score{}", s), .inputs = {}};
    for (uint32_t i = 0; i < kRandomSignals; ++i) {
      if (random.coin()) continue;
      config::ScoreInput input{.type = "keyword", .name = signal_name(i), .kb = {}, .metric = {}};
      input.weight = random.number();
      input.value_source = sources[random.below(3)];
      input.miss = random.coin() ? 0 : random.number();
      score.inputs.push_back(input);
    }
    if (s == 1) {
      config::ScoreInput other{.type = "projection", .name = "score0", .kb = {}, .metric = {}};
      other.weight = random.number();
      score.inputs.push_back(other);
    }
    routing.projections.scores.push_back(score);
    config::Mapping mapping{
        .name = fmt::format("m{}", s), .source = score.name, .calibration = {}, .outputs = {}};
    if (random.coin()) mapping.method = config::Mapping::Method::kMultiEmit;
    for (uint32_t o = 0; o < 3; ++o) {
      config::Mapping::Output output{fmt::format("o{}{}", s, o), {}};
      if (random.coin()) output.range.gte = random.number();
      if (random.coin()) output.range.lt = random.number();
      mapping.outputs.push_back(output);
    }
    routing.projections.mappings.push_back(mapping);
  }
  if (random.coin()) {
    config::Partition partition{.name = "p", .members = {}, .fallback = {}};
    if (random.coin()) partition.semantics = config::Partition::Semantics::kSoftmaxExclusive;
    for (uint32_t i = 0; i < 3; ++i) partition.members.push_back(signal_name(i));
    if (random.coin()) partition.fallback = signal_name(random.below(3));
    routing.projections.partitions.push_back(partition);
  }
  return routing;
}

std::vector<Fact> random_facts(RandomProjections& random) {
  std::vector<Fact> facts(kRandomSignals);
  for (Fact& fact : facts) {
    if (random.below(6) == 0) {
      fact.state = Fact::State::kUnavailable;
      continue;
    }
    fact.state = Fact::State::kKnown;
    fact.matched = random.coin();
    fact.score = random.number();
    fact.confidence = fact.matched ? std::abs(random.number()) : 0;
  }
  return facts;
}

std::vector<Value> values_of(const LeafValues& leaf_values, std::span<const Fact> facts) {
  std::vector<Value> values(leaf_values.size());
  std::vector<Value> scratch;
  std::vector<Bounds> scores(leaf_values.projections().scores());
  leaf_values.evaluate(facts, values, scratch, scores);
  return values;
}

TEST(LeafValues, bounds_hold_for_all_values_of_unknown_signals) {
  RandomProjections random(3);
  size_t early = 0;
  for (int round = 0; round < 4000; ++round) {
    config::Routing routing = random_routing(random);
    for (uint32_t i = 0; i < kRandomSignals; ++i) {
      config::EmbeddingSignal embedding;
      embedding.name = signal_name(i);
      if (random.coin()) routing.embeddings.push_back(std::move(embedding));
    }
    const auto leaf_values = LeafValues::create(
        routing, kRandomSignals,
        [](auto, std::string_view name) {
          for (uint32_t i = 0; i < kRandomSignals; ++i) {
            if (name == signal_name(i)) return i;
          }
          return kNoSignal;
        },
        random.below(3));
    ASSERT_TRUE(leaf_values) << leaf_values.error().message;
    const std::vector<Fact> facts = random_facts(random);
    std::vector<Fact> partial = facts;
    for (Fact& fact : partial) {
      if (fact.state == Fact::State::kKnown && random.coin()) fact = Fact{};
    }
    const std::vector<Value> full = values_of(*leaf_values, facts);
    const std::vector<Value> some = values_of(*leaf_values, partial);
    for (uint32_t n = 0; n < full.size(); ++n) {
      ASSERT_TRUE(full[n].is_settled()) << n;
      ASSERT_LE(some[n].low, full[n].low) << n;
      ASSERT_GE(some[n].high, full[n].high) << n;
      if (full[n].is_match()) {
        ASSERT_LE(some[n].confidence_low, full[n].confidence_low + 1e-12) << n;
        ASSERT_GE(some[n].confidence_high, full[n].confidence_high - 1e-12) << n;
      }
      const bool open = std::any_of(partial.begin(), partial.end(), [](const Fact& fact) {
        return fact.state == Fact::State::kPending;
      });
      if (open && n >= kRandomSignals && some[n].low == some[n].high) ++early;
    }
  }
  EXPECT_GT(early, 1000U);  // many values are fixed before all inputs are known
}

TEST(LeafValues, signals_behind_a_needed_number_are_needed) {
  config::Routing routing;
  config::ScoreInput input;
  input.type = "keyword";
  input.name = "s3";
  config::Score score;
  score.name = "s";
  score.inputs.push_back(input);
  routing.projections.scores.push_back(score);
  config::Mapping mapping;
  mapping.name = "m";
  mapping.source = "s";
  mapping.outputs.resize(1);
  mapping.outputs[0].name = "out";
  routing.projections.mappings.push_back(mapping);
  config::Partition partition;
  partition.name = "p";
  partition.members = {"s3", "s4"};
  routing.projections.partitions.push_back(partition);
  auto leaf_values = LeafValues::create(routing, kRandomSignals, [](auto, std::string_view name) {
    return static_cast<uint32_t>(name[1] - '0');
  });
  ASSERT_TRUE(leaf_values);
  config::Rule leaf{
      .op = config::Rule::Operator::kLeaf, .type = "projection", .name = "out", .conditions = {}};
  leaf.on_error = config::Rule::OnError::kMatch;
  const uint32_t test = leaf_values->number_of(leaf, config::Rule::OnError::kDefault);
  EXPECT_EQ(test, kRandomSignals + 1);
  EXPECT_EQ(leaf_values->size(), kRandomSignals + 2);
  std::vector<bool> needed(leaf_values->size(), false);
  needed[test] = true;
  leaf_values->spread_needed(needed);
  EXPECT_EQ(needed, (std::vector<bool>{false, false, false, true, true, true, true}));
}

}  // namespace
}  // namespace signalbox::decision
