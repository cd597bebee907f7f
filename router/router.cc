// Router: the configuration compiled. Evaluation: one request's signals as they become known.

#include "router/router.h"

#include <algorithm>

#include "router/decision/derived.h"
#include "router/decision/engine.h"
#include "router/explain.h"
#include "router/planner.h"
#include "router/signals/factory.h"

namespace signalbox::router {
namespace {

using decision::Fact;

// The signals of one type and where their numbers begin.
struct Group {
  std::unique_ptr<const SignalType> signals;
  uint32_t first;

  uint32_t size() const { return static_cast<uint32_t>(signals->size()); }
  bool is_available() const {
    for (uint32_t i = 0; i < size(); ++i) {
      if (signals->unavailable(i).empty()) return true;
    }
    return false;
  }
};

// What fails while it should say whether to refuse a request counts as if it had said so.
config::Rule::OnError on_failure(const config::Rule& leaf, bool blocks,
                                 const config::Modules& modules) {
  using OnError = config::Rule::OnError;
  if (leaf.type == "jailbreak" && modules.prompt_guard.on_error) {
    const bool block = *modules.prompt_guard.on_error == config::ClassifierModel::OnError::kBlock;
    return block ? OnError::kMatch : OnError::kNoMatch;
  }
  const bool guards = leaf.type == "jailbreak" || leaf.type == "pii";
  return guards && blocks ? OnError::kMatch : OnError::kDefault;
}

}  // namespace

struct Router::Impl {
  config::Config config;
  Models models;
  std::vector<Group> groups;
  uint32_t signal_count = 0;
  std::optional<decision::Derived> derived;
  std::optional<decision::Engine> engine;
  std::vector<std::string> notices;

  Result<void> compile() {
    const config::Routing& routing = config.routing;
    SIGNALBOX_TRY(SignalTypes types, make_signals(config, routing, models));
    for (auto& type : types) {
      const auto size = static_cast<uint32_t>(type->size());
      groups.push_back({std::move(type), signal_count});
      signal_count += size;
    }
    SIGNALBOX_TRY(derived,
                  decision::Derived::create(routing, signal_count, [this](auto type, auto name) {
                    return find(type, name);
                  }));
    const auto blocking = blocking_leaves(routing);
    engine.emplace(routing, [&](const config::Rule& leaf) {
      const bool blocks = std::find(blocking.begin(), blocking.end(), &leaf) != blocking.end();
      return derived->number_of(leaf, on_failure(leaf, blocks, config.modules));
    });
    for (const Group& group : groups) add_notices(*group.signals);
    return {};
  }

  // Without a type, as partitions name their members, embeddings and domains come first.
  uint32_t find(std::string_view type, std::string_view name) const {
    if (type.empty()) {
      for (const std::string_view each : {"embedding", "domain"}) {
        if (const uint32_t number = find(each, name); number != decision::kNoSignal) return number;
      }
    }
    for (const Group& group : groups) {
      if (!type.empty() && group.signals->type() != type) continue;
      for (uint32_t i = 0; i < group.size(); ++i) {
        if (group.signals->name(i) == name) return group.first + i;
      }
    }
    return decision::kNoSignal;
  }

  // Leaves that, when they match, speak for a decision that answers instead of a model.
  static std::vector<const config::Rule*> blocking_leaves(const config::Routing& routing) {
    std::vector<const config::Rule*> leaves;
    for (const config::Decision& decision : routing.decisions) {
      if (decision.fast_response) collect_leaves(decision.rules, leaves);
    }
    return leaves;
  }

  static void collect_leaves(const config::Rule& rule, std::vector<const config::Rule*>& leaves,
                             bool negated = false) {
    if (rule.op == config::Rule::Operator::kLeaf && !negated) leaves.push_back(&rule);
    if (rule.op == config::Rule::Operator::kNot) negated = !negated;
    for (const config::Rule& condition : rule.conditions)
      collect_leaves(condition, leaves, negated);
  }

  void add_notices(const SignalType& type) {
    std::vector<std::pair<std::string_view, std::string>> reasons;
    for (size_t i = 0; i < type.size(); ++i) {
      const std::string_view why = type.unavailable(i);
      if (why.empty()) continue;
      auto known = std::find_if(reasons.begin(), reasons.end(),
                                [&](const auto& each) { return each.first == why; });
      if (known == reasons.end()) known = reasons.insert(known, {why, ""});
      known->second += known->second.empty() ? "" : ", ";
      known->second += type.name(i);
    }
    for (const auto& [why, names] : reasons) {
      notices.push_back(
          fmt::format("{}: {} signals are unavailable ({}): {}; conditions on them do not match, "
                      "nor does NOT of them, and projections count them as not matching",
                      config.source, type.type(), names, why));
    }
  }

  bool is_auto(std::string_view model) const {
    const auto& names = config.auto_model_names;
    return std::find(names.begin(), names.end(), model) != names.end();
  }
};

Result<std::unique_ptr<const Router>> Router::create(config::Config config, Models models) {
  auto impl = std::make_unique<Impl>();
  impl->config = std::move(config);
  impl->models = std::move(models);
  SIGNALBOX_TRY_VOID(impl->compile());
  return std::unique_ptr<const Router>(new Router(std::move(impl)));
}

Router::Router(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Router::~Router() = default;

const config::Config& Router::config() const {
  return impl_->config;
}

const Models& Router::models() const {
  return impl_->models;
}

const std::vector<std::string>& Router::notices() const {
  return impl_->notices;
}

struct Evaluation::State {
  struct Progress {
    bool pending = true;
    bool failed = false;
    std::vector<Evidence> evidence;
  };

  const Router::Impl& router;
  const ChatRequest& request;
  Inputs inputs;
  bool bypassed;
  std::vector<Reading> readings;        // (signals)
  std::vector<Fact> facts;              // (signals)
  std::vector<Progress> progress;       // (groups)
  std::vector<decision::Value> values;  // (numbers)
  std::vector<decision::Bounds> scores;
  std::vector<decision::Value> gates;
  decision::Scratch scratch;
  decision::Outcome outcome;

  State(const Router::Impl& from, const ChatRequest& asked, HeaderLookup headers)
      : router(from),
        request(asked),
        inputs(asked, std::move(headers), from.models.embedder.get()),
        bypassed(!from.is_auto(asked.model)),
        readings(from.signal_count),
        facts(from.signal_count),
        progress(from.groups.size()),
        values(from.derived->size()),
        scores(from.derived->projections().scores()) {
    for (size_t g = 0; g < router.groups.size(); ++g) {
      const Group& group = router.groups[g];
      progress[g].pending = group.is_available();
      for (uint32_t i = 0; i < group.size(); ++i) {
        if (!group.signals->unavailable(i).empty())
          facts[group.first + i].state = Fact::State::kUnavailable;
      }
    }
    decide();
  }

  void decide() {
    router.derived->evaluate(facts, values, gates, scores);
    outcome = router.engine->evaluate(values, scratch);
  }

  Result<void> compute(size_t index) {
    const Group& group = router.groups[index];
    const std::span<Reading> out = std::span(readings).subspan(group.first, group.size());
    auto done = group.signals->evaluate(inputs, out, progress[index].evidence);
    progress[index].pending = false;
    progress[index].failed = !done;
    for (uint32_t i = 0; i < group.size(); ++i) {
      Fact& fact = facts[group.first + i];
      if (fact.state == Fact::State::kUnavailable) continue;
      fact.state = done ? Fact::State::kKnown : Fact::State::kFailed;
      if (done) {
        fact.matched = out[i].matched;
        fact.confidence = out[i].confidence;
        fact.score = out[i].score;
      }
    }
    decide();
    if (!done)
      return fail_in(fmt::format("{} signals", group.signals->type()), std::move(done).error());
    return {};
  }

  // Computes pending groups that `wanted` accepts, the cheap ones first, and goes on past a
  // failure.
  template <class Wanted>
  Result<void> compute_while(const Wanted& wanted) {
    Result<void> first_failure;
    for (const Cost cost : {Cost::kCheap, Cost::kModel}) {
      for (size_t i = 0; i < router.groups.size(); ++i) {
        if (!progress[i].pending || router.groups[i].signals->cost() != cost || !wanted(i))
          continue;
        auto done = compute(i);
        if (!done && first_failure) first_failure = std::move(done);
      }
    }
    return first_failure;
  }

  bool is_needed(size_t index) const {
    if (outcome.fixed) return false;
    std::vector<bool> needed(values.size());
    router.engine->mark_needed(values, scratch, outcome, needed);
    router.derived->spread_needed(needed);
    const Group& group = router.groups[index];
    for (uint32_t n = group.first; n < group.first + group.size(); ++n) {
      if (needed[n] && facts[n].state == Fact::State::kPending) return true;
    }
    return false;
  }

  std::vector<Plan::Matched> matched() const {
    std::vector<Plan::Matched> all;
    const auto add = [&](std::string_view type, uint32_t number, std::string_view name) {
      if (!values[number].is_match()) return;
      if (all.empty() || all.back().type != type) all.push_back({type, {}});
      all.back().names.emplace_back(name);
    };
    for (const Group& group : router.groups) {
      for (uint32_t i = 0; i < group.size(); ++i)
        add(group.signals->type(), group.first + i, group.signals->name(i));
    }
    router.derived->projections().for_each_output(
        [&](uint32_t number, std::string_view name, size_t) { add("projection", number, name); });
    return all;
  }

  Report report() const {
    Report out{&router.config.routing, &*router.engine, &*router.derived, {}, values,
               scratch.values,         scores,          outcome};
    for (size_t i = 0; i < router.groups.size(); ++i) {
      const Group& group = router.groups[i];
      out.types.push_back(
          {group.signals.get(), group.first, !progress[i].pending, progress[i].failed,
           std::span(readings).subspan(group.first, group.size()), progress[i].evidence});
    }
    return out;
  }

  const config::Decision* chosen() const {
    if (outcome.decision == decision::kNoDecision) return nullptr;
    return &router.config.routing.decisions[static_cast<size_t>(outcome.decision)];
  }

  Result<Plan> plan() const {
    if (bypassed) return plan_bypass(router.config, request);
    SIGNALBOX_TRY(Plan plan, plan_routed(router.config, request, chosen(), outcome.confidence));
    plan.matched = matched();
    return plan;
  }
};

Evaluation Router::evaluate(const ChatRequest& request, HeaderLookup headers) const {
  return Evaluation(std::make_unique<Evaluation::State>(*impl_, request, std::move(headers)));
}

Evaluation::Evaluation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluation::Evaluation(Evaluation&&) noexcept = default;
Evaluation::~Evaluation() = default;

bool Evaluation::run_cheap() {
  if (state_->bypassed) return true;
  // Cheap signals run no model and cannot fail.
  static_cast<void>(state_->compute_while(
      [&](size_t i) { return state_->router.groups[i].signals->cost() == Cost::kCheap; }));
  return state_->outcome.fixed;
}

Result<void> Evaluation::run_needed() {
  if (state_->bypassed) return {};
  return state_->compute_while([&](size_t i) { return state_->is_needed(i); });
}

Result<void> Evaluation::run_all() {
  return state_->compute_while([](size_t) { return true; });
}

Result<Plan> Evaluation::plan() const {
  return state_->plan();
}

const config::Decision* Evaluation::decision() const {
  return state_->chosen();
}

std::vector<Plan::Matched> Evaluation::matched() const {
  return state_->matched();
}

std::string Evaluation::explain_json() const {
  return router::explain_json(state_->report());
}

std::string Evaluation::explain_words() const {
  if (state_->bypassed)
    return fmt::format("The client names the model {}; nothing is decided.", state_->request.model);
  return router::explain_words(state_->report());
}

}  // namespace signalbox::router
