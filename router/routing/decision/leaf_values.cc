// Each step rewrites or appends values. The steps run in the order of their dependencies.

#include "router/routing/decision/leaf_values.h"

#include <algorithm>
#include <functional>

namespace signalbox::decision {
namespace {

using OnError = config::Rule::OnError;

constexpr std::string_view kLevels[] = {":hard", ":medium", ":easy"};

const config::Rule* find_projection(const config::Rule& rule) {
  if (rule.op == config::Rule::Operator::kLeaf && rule.type == "projection") return &rule;
  for (const config::Rule& condition : rule.conditions) {
    if (const config::Rule* found = find_projection(condition)) return found;
  }
  return nullptr;
}

// A classifier has one signal for each of its labels.
std::string signal_name(const config::Rule& leaf) {
  return leaf.label.empty() ? leaf.name : fmt::format("{}:{}", leaf.name, leaf.label);
}

/// The result of a leaf whose signal failed; kDefault: it stays unknown.
OnError result_of(const config::Rule& leaf, OnError on_failure) {
  if (leaf.on_error == OnError::kUnknown) return OnError::kDefault;
  return leaf.on_error == OnError::kDefault ? on_failure : leaf.on_error;
}

Value after_failure(OnError on_error) {
  Value out = Value::known(on_error == OnError::kMatch, 1);
  out.by_error = out.is_match();
  return out;
}

}  // namespace

Result<LeafValues> LeafValues::create(const config::Routing& routing, uint32_t computed, Find find,
                                      uint32_t embeddings_max) {
  LeafValues out;
  out.computed_ = computed;
  out.embeddings_max_ = embeddings_max;
  out.find_ = std::move(find);
  SIGNALBOX_TRY(out.projections_, Projections::create(routing.projections, out.find_, computed));
  out.first_test_ = computed + out.projections_.outputs();
  out.depends_on_.resize(out.first_test_);
  out.projections_.for_each_dependency(
      [&](uint32_t number, uint32_t on) { out.depends_on_[number].push_back(on); });
  SIGNALBOX_TRY_VOID(out.add_gates(routing));
  std::vector<std::string_view> names;
  for (const config::EmbeddingSignal& signal : routing.embeddings) names.push_back(signal.name);
  std::ranges::sort(names);
  for (const std::string_view name : names) {
    const uint32_t number = out.find_("embedding", name);
    if (number != kNoSignal) out.embeddings_.push_back(number);
  }
  return out;
}

Result<void> LeafValues::add_gates(const config::Routing& routing) {
  for (const config::ComplexitySignal& signal : routing.complexity) {
    if (!signal.composer) continue;
    if (const config::Rule* leaf = find_projection(*signal.composer)) {
      return fail(Code::kUnsupported,
                  "complexity signal \"{}\": composer: a condition on the projection \"{}\" is not "
                  "built",
                  signal.name, leaf->name);
    }
    Gate gate{static_cast<uint32_t>(gate_rules_.nodes().size()), {}};
    gate_rules_.add(*signal.composer,
                    [&](const config::Rule& leaf) { return find_(leaf.type, signal_name(leaf)); });
    for (const std::string_view level : kLevels) {
      const uint32_t number = find_("complexity", fmt::format("{}{}", signal.name, level));
      if (number == kNoSignal) continue;
      gate.signals.push_back(number);
      for (size_t i = gate.root; i < gate_rules_.nodes().size(); ++i) {
        const Node& node = gate_rules_.nodes()[i];
        if (node.signal != kNoSignal) depends_on_[number].push_back(node.signal);
      }
    }
    gates_.push_back(std::move(gate));
  }
  return {};
}

uint32_t LeafValues::number_of(const config::Rule& leaf, OnError on_failure) {
  const uint32_t signal = leaf.type == "projection" ? projections_.output(leaf.name)
                                                    : find_(leaf.type, signal_name(leaf));
  if (signal == kNoSignal) return kNoSignal;
  const bool plain = !leaf.predicate && result_of(leaf, on_failure) == OnError::kDefault;
  if (plain) return signal;
  tests_.push_back({signal, &leaf, on_failure, sources_of(signal)});
  return size() - 1;
}

LeafValues::Target LeafValues::target_of(uint32_t number) const {
  if (number < first_test_) return {number, OnError::kDefault};
  const Test& test = tests_[number - first_test_];
  return {test.signal, result_of(*test.leaf, test.on_failure)};
}

// A projection has failed if it is undetermined and no signal that could settle it is pending.
Value LeafValues::test_open(const Test& test, std::span<const Fact> facts,
                            const Value& value) const {
  const OnError on_error = result_of(*test.leaf, test.on_failure);
  const bool pending = std::any_of(test.sources.begin(), test.sources.end(), [&](uint32_t number) {
    return facts[number].state == Fact::State::kPending;
  });
  if (pending || on_error == OnError::kDefault) return value;
  return after_failure(on_error);
}

Value LeafValues::test(const Test& test, std::span<const Fact> facts,
                       std::span<const Value> values) const {
  const Value value = values[test.signal];
  const std::optional<config::Predicate>& predicate = test.leaf->predicate;
  if (test.signal >= computed_) {  // a projection has no score of its own
    if (!value.is_settled()) return test_open(test, facts, value);
    if (!predicate) return value;
    return Value::known(value.is_match() && holds(*predicate, value.confidence_low),
                        value.confidence_low);
  }
  const Fact& fact = facts[test.signal];
  const bool failed = fact.state == Fact::State::kFailed;
  if (failed || fact.state == Fact::State::kUnavailable) {
    const OnError on_error = result_of(*test.leaf, failed ? test.on_failure : OnError::kDefault);
    return on_error == OnError::kDefault ? value : after_failure(on_error);
  }
  if (!predicate || fact.state == Fact::State::kPending) return value;
  return Value::known(holds(*predicate, fact.score), std::clamp(fact.score, 0.0, 1.0));
}

// Keeps the matches of the highest confidence, of equal ones the first by name. A member that a
// partition has added without a match of its own ranks last.
void LeafValues::limit_embeddings(std::span<const Fact> facts, std::span<Value> values) const {
  if (embeddings_max_ == 0 || embeddings_.size() <= embeddings_max_) return;
  std::vector<uint32_t> matches;
  bool is_settled = true;
  for (const uint32_t number : embeddings_) {
    is_settled = is_settled && values[number].is_settled();
    if (values[number].can_match()) matches.push_back(number);
  }
  if (matches.size() <= embeddings_max_) return;
  if (!is_settled) {
    for (const uint32_t number : matches) values[number] = Value::unknown();
    return;
  }
  const auto rank = [&](uint32_t number) {
    return facts[number].matched ? values[number].confidence_low : 0;
  };
  std::ranges::stable_sort(matches, std::greater<>(), rank);
  for (size_t i = embeddings_max_; i < matches.size(); ++i)
    values[matches[i]] = Value::known(false, 0);
}

void LeafValues::evaluate(std::span<const Fact> facts, std::span<Value> values,
                          std::vector<Value>& scratch, std::span<Bounds> scores) const {
  for (uint32_t i = 0; i < computed_; ++i) values[i] = facts[i].value();
  projections_.resolve_partitions(values);
  if (!gates_.empty()) {
    scratch.resize(gate_rules_.nodes().size());
    gate_rules_.evaluate(values, scratch);
    for (const Gate& gate : gates_) {
      for (const uint32_t number : gate.signals) {
        values[number].low = std::min(values[number].low, scratch[gate.root].low);
        values[number].high = std::min(values[number].high, scratch[gate.root].high);
      }
    }
  }
  limit_embeddings(facts, values);
  projections_.evaluate(facts, values, scores);
  for (uint32_t i = 0; i < tests_.size(); ++i)
    values[first_test_ + i] = test(tests_[i], facts, values);
}

std::vector<uint32_t> LeafValues::sources_of(uint32_t number) const {
  std::vector<bool> needed(size(), false);
  needed[number] = true;
  spread_needed(needed);
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < computed_; ++i) {
    if (needed[i]) out.push_back(i);
  }
  return out;
}

void LeafValues::spread_needed(std::vector<bool>& needed) const {
  std::vector<uint32_t> open;
  for (uint32_t number = 0; number < size(); ++number) {
    if (needed[number]) open.push_back(number);
  }
  while (!open.empty()) {
    const uint32_t number = open.back();
    open.pop_back();
    const auto add = [&](uint32_t on) {
      if (needed[on]) return;
      needed[on] = true;
      open.push_back(on);
    };
    if (number >= first_test_) {
      add(tests_[number - first_test_].signal);
    } else {
      for (const uint32_t on : depends_on_[number]) add(on);
    }
  }
}

}  // namespace signalbox::decision
