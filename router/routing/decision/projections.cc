// Scores are sorted once by their dependencies; evaluation then needs a single pass.

#include "router/routing/decision/projections.h"

#include <cmath>
#include <limits>

namespace signalbox::decision {
namespace {

using Source = config::ScoreInput::Source;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::string_view kProjection = "projection";

bool is_unavailable(const Value& value) {
  return value.low == Truth::kUnavailable && value.high == Truth::kUnavailable;
}

// True if some number within the bounds may lie in the range.
bool may_hold(const config::Predicate& range, const Bounds& at) {
  return (!range.gt || at.high > *range.gt) && (!range.gte || at.high >= *range.gte) &&
         (!range.lt || at.low < *range.lt) && (!range.lte || at.low <= *range.lte);
}

double confidence_at(const config::Mapping& mapping, const config::Predicate& range, double x) {
  const bool bounded = range.gt || range.gte || range.lt || range.lte;
  double distance = bounded ? kInfinity : 1;
  for (const auto& bound : {range.gt, range.gte, range.lt, range.lte}) {
    if (bound) distance = std::min(distance, std::abs(x - *bound));
  }
  constexpr double kDefaultSlope = 12;
  const double slope = mapping.calibration.slope > 0 ? mapping.calibration.slope : kDefaultSlope;
  return 1 / (1 + std::exp(-slope * distance));
}

// Sets the outputs of one mapping. With threshold_bands only the first range that holds matches.
void map_score(const config::Mapping& mapping, const Bounds& at, std::span<Value> out) {
  const bool first_only = mapping.method == config::Mapping::Method::kThresholdBands;
  bool may_be_taken = false;
  bool is_taken = false;
  for (size_t i = 0; i < mapping.outputs.size(); ++i) {
    const config::Predicate& range = mapping.outputs[i].range;
    const bool may = may_hold(range, at) && !is_taken;
    const bool must = may && holds(range, at.low) && holds(range, at.high) && !may_be_taken;
    Value& value = out[i];
    value = Value::known(false, 0);
    if (may) value.high = Truth::kYes;
    if (must) value.low = Truth::kYes;
    if (must) {
      value.confidence_low =
          std::min(confidence_at(mapping, range, at.low), confidence_at(mapping, range, at.high));
    }
    if (may) value.confidence_high = at.low == at.high ? value.confidence_low : 1;
    if (!first_only) continue;
    may_be_taken = may_be_taken || may;
    is_taken = is_taken || must;
  }
}

const config::Score* score_named(const config::Projections& projections, std::string_view name) {
  for (const config::Score& score : projections.scores) {
    if (score.name == name) return &score;
  }
  return nullptr;
}

// The score that an input needs; null if it needs none. An input may name a score itself or an
// output of a mapping of that score.
const config::Score* needed_score(const config::Projections& projections,
                                  const config::ScoreInput& input) {
  if (input.type != kProjection) return nullptr;
  if (const config::Score* score = score_named(projections, input.name)) return score;
  for (const config::Mapping& mapping : projections.mappings) {
    for (const config::Mapping::Output& output : mapping.outputs) {
      if (output.name == input.name) return score_named(projections, mapping.source);
    }
  }
  return nullptr;
}

}  // namespace

Result<Projections> Projections::create(const config::Projections& projections, const Find& find,
                                        uint32_t first_output) {
  Projections out;
  const auto find_any = [&](std::string_view type, std::string_view name) {
    if (type != kProjection) return find(type, name);
    uint32_t number = first_output;
    for (const config::Mapping& mapping : projections.mappings) {
      for (const config::Mapping::Output& output : mapping.outputs) {
        if (output.name == name) return number;
        ++number;
      }
    }
    return kNoSignal;
  };
  for (const config::Partition& partition : projections.partitions) {
    Partition made{&partition, {}, kNoSignal};
    for (const std::string& member : partition.members) {
      const uint32_t number = find("", member);
      if (number != kNoSignal) made.members.push_back(number);
    }
    if (!partition.fallback.empty()) made.fallback = find("", partition.fallback);
    out.partitions_.push_back(std::move(made));
  }
  SIGNALBOX_TRY_VOID(out.order(projections, find_any));
  for (const config::Mapping& mapping : projections.mappings) {
    for (Score& score : out.scores_) {
      if (score.config->name == mapping.source)
        score.mappings.push_back({&mapping, first_output + out.outputs_});
    }
    out.outputs_ += static_cast<uint32_t>(mapping.outputs.size());
  }
  return out;
}

Result<void> Projections::order(const config::Projections& projections, const Find& find) {
  std::vector<bool> done(projections.scores.size(), false);
  for (size_t round = 0; round < projections.scores.size(); ++round) {
    for (size_t i = 0; i < projections.scores.size(); ++i) {
      const config::Score& score = projections.scores[i];
      const bool ready = std::all_of(
          score.inputs.begin(), score.inputs.end(), [&](const config::ScoreInput& input) {
            const config::Score* needs = needed_score(projections, input);
            return needs == nullptr || done[static_cast<size_t>(needs - projections.scores.data())];
          });
      if (done[i] || !ready) continue;
      Score made{&score, {}, {}};
      for (const config::ScoreInput& input : score.inputs)
        made.inputs.push_back(input_of(input, find));
      scores_.push_back(std::move(made));
      done[i] = true;
    }
  }
  for (size_t i = 0; i < done.size(); ++i) {
    if (!done[i])
      return fail(Code::kInvalid,
                  "projections: score \"{}\" depends on itself, directly or through others",
                  projections.scores[i].name);
  }
  return {};
}

Projections::Input Projections::input_of(const config::ScoreInput& config, const Find& find) const {
  Input input{&config, kNoSignal, -1};
  if (config.type == "kb_metric") {
    input.signal = find(config.type, fmt::format("{}/{}", config.kb, config.metric));
    return input;
  }
  for (size_t i = 0; config.type == kProjection && i < scores_.size(); ++i) {
    if (scores_[i].config->name == config.name) input.score = static_cast<int32_t>(i);
  }
  if (input.score < 0) input.signal = find(config.type, config.name);
  return input;
}

Bounds Projections::bounds_of(const Input& input, std::span<const Fact> facts,
                              std::span<const Value> values, std::span<const Bounds> scores) {
  const config::ScoreInput& config = *input.config;
  if (input.score >= 0) return scores[static_cast<size_t>(input.score)];
  const bool measured = config.type == "kb_metric" || config.value_source == Source::kScore ||
                        config.value_source == Source::kRaw;
  const bool is_fact = input.signal < facts.size();
  if (measured && is_fact) {
    const Fact& fact = facts[input.signal];
    if (fact.state == Fact::State::kKnown) return {fact.score, fact.score};
    if (fact.state == Fact::State::kUnavailable) return {0, 0};
    return {-kInfinity, kInfinity};
  }
  const Value value = input.signal == kNoSignal ? Value::unavailable() : values[input.signal];
  if (config.value_source == Source::kConfidence || measured) {
    if (!value.can_match()) return {0, 0};
    return {value.is_match() ? value.confidence_low : 0, value.confidence_high};
  }
  const bool is_match = value.is_match();
  if (is_match || !value.can_match() || is_unavailable(value)) {
    const double x = is_match ? config.match : config.miss;
    return {x, x};
  }
  return {std::min(config.match, config.miss), std::max(config.match, config.miss)};
}

void Projections::evaluate(std::span<const Fact> facts, std::span<Value> values,
                           std::span<Bounds> scores) const {
  for (size_t i = 0; i < scores_.size(); ++i) {
    Bounds sum{0, 0};
    for (const Input& input : scores_[i].inputs) {
      const double weight = input.config->weight;
      if (weight == 0) continue;  // 0 times infinity is not a number
      const Bounds at = bounds_of(input, facts, values, scores.first(i));
      sum.low += weight * (weight > 0 ? at.low : at.high);
      sum.high += weight * (weight > 0 ? at.high : at.low);
    }
    scores[i] = sum;
    for (const Mapping& mapping : scores_[i].mappings)
      map_score(*mapping.config, sum,
                values.subspan(mapping.first, mapping.config->outputs.size()));
  }
}

// Leaves only the members that certainly do not match.
void Projections::forget_matches(const Partition& partition, std::span<Value> values) {
  for (const uint32_t n : partition.members) {
    if (values[n].can_match() || n == partition.fallback) values[n] = Value::unknown();
  }
}

// The winner's share of softmax(confidences / temperature) over the members that match.
double Projections::softmax_share(const Partition& partition, uint32_t winner,
                                  std::span<const Value> values) {
  const double t = partition.config->temperature > 0 ? partition.config->temperature : 1;
  double sum = 0;
  for (const uint32_t n : partition.members) {
    if (values[n].is_match())
      sum += std::exp((values[n].confidence_low - values[winner].confidence_low) / t);
  }
  return 1 / sum;
}

void Projections::resolve(const Partition& partition, std::span<Value> values) {
  uint32_t winner = kNoSignal;
  size_t matches = 0;
  for (const uint32_t n : partition.members) {
    if (!values[n].is_match()) continue;
    ++matches;
    if (winner == kNoSignal || values[n].confidence_low > values[winner].confidence_low) winner = n;
  }
  if (winner == kNoSignal) {
    const uint32_t fallback = partition.fallback;
    if (fallback != kNoSignal && !is_unavailable(values[fallback]))
      values[fallback] = Value::known(true, 1);
    return;
  }
  if (matches == 1) return;
  const bool is_softmax =
      partition.config->semantics == config::Partition::Semantics::kSoftmaxExclusive;
  const double confidence =
      is_softmax ? softmax_share(partition, winner, values) : values[winner].confidence_low;
  for (const uint32_t n : partition.members) {
    if (values[n].is_match()) values[n] = Value::known(n == winner, confidence);
  }
}

void Projections::resolve_partitions(std::span<Value> values) const {
  for (const Partition& partition : partitions_) {
    const bool is_settled =
        std::ranges::all_of(partition.members, [&](uint32_t n) { return values[n].is_settled(); });
    is_settled ? resolve(partition, values) : forget_matches(partition, values);
  }
}

// The signals that each score needs, itself or through other scores, (scores).
std::vector<std::vector<uint32_t>> Projections::needed_signals() const {
  std::vector<std::vector<uint32_t>> needs(scores_.size());
  for (size_t i = 0; i < scores_.size(); ++i) {
    for (const Input& input : scores_[i].inputs) {
      if (input.score >= 0) {
        const auto& others = needs[static_cast<size_t>(input.score)];
        needs[i].insert(needs[i].end(), others.begin(), others.end());
      } else if (input.signal != kNoSignal) {
        needs[i].push_back(input.signal);
      }
    }
  }
  return needs;
}

void Projections::for_each_dependency(
    const std::function<void(uint32_t number, uint32_t on)>& depends) const {
  for (const Partition& partition : partitions_) {
    for (const uint32_t number : partition.members) {
      for (const uint32_t on : partition.members) {
        if (on != number) depends(number, on);
      }
    }
  }
  const std::vector<std::vector<uint32_t>> needs = needed_signals();
  for_each_output([&](uint32_t number, std::string_view, size_t score) {
    for (const uint32_t on : needs[score]) depends(number, on);
  });
}

void Projections::for_each_output(
    const std::function<void(uint32_t number, std::string_view name, size_t score)>& visit) const {
  for (size_t i = 0; i < scores_.size(); ++i) {
    for (const Mapping& mapping : scores_[i].mappings) {
      for (uint32_t o = 0; o < mapping.config->outputs.size(); ++o)
        visit(mapping.first + o, mapping.config->outputs[o].name, i);
    }
  }
}

void Projections::for_each_input(
    size_t score,
    const std::function<void(const config::ScoreInput& input, uint32_t number)>& visit) const {
  for (const Input& input : scores_[score].inputs) visit(*input.config, input.signal);
}

uint32_t Projections::output(std::string_view name) const {
  uint32_t found = kNoSignal;
  for_each_output([&](uint32_t number, std::string_view each, size_t) {
    if (found == kNoSignal && each == name) found = number;
  });
  return found;
}

}  // namespace signalbox::decision
