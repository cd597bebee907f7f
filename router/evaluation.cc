// One request's signals as they become known, and what follows of them so far.

#include "router/router.h"

#include <algorithm>

#include "router/compiled.h"
#include "router/explain.h"
#include "router/planner.h"

namespace signalbox::router {

using decision::Fact;

struct Evaluation::State {
  using Group = Compiled::Group;
  struct Progress {
    bool pending = true;
    bool moot = false;
    bool failed = false;
    std::vector<Evidence> evidence;
  };

  const config::Config& config;
  const Compiled& router;
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

  State(const config::Config& of, const Compiled& by, const engine::TextEmbedder* embedder,
        const ChatRequest& asked, HeaderLookup headers, bool bypass)
      : config(of),
        router(by),
        request(asked),
        inputs(asked, std::move(headers), embedder),
        bypassed(bypass),
        readings(by.signals()),
        facts(by.signals()),
        progress(by.groups().size()),
        values(by.derived().size()),
        scores(by.derived().projections().scores()) {
    for (size_t g = 0; g < router.groups().size(); ++g) {
      const Group& group = router.groups()[g];
      progress[g].moot = group.signals->is_moot(request);
      progress[g].pending = group.is_available() && !progress[g].moot;
      for (uint32_t i = 0; i < group.size(); ++i) {
        Fact& fact = facts[group.first + i];
        if (progress[g].moot) {
          fact.state = Fact::State::kKnown;
        } else if (!group.signals->unavailable(i).empty()) {
          fact.state = Fact::State::kUnavailable;
        }
      }
    }
    decide();
  }

  void decide() {
    router.derived().evaluate(facts, values, gates, scores);
    outcome = router.engine().evaluate(values, scratch);
  }

  Result<void> compute(size_t index) {
    const Group& group = router.groups()[index];
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
      for (size_t i = 0; i < router.groups().size(); ++i) {
        if (!progress[i].pending || router.groups()[i].signals->cost() != cost || !wanted(i))
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
    router.engine().mark_needed(values, scratch, outcome, needed);
    router.derived().spread_needed(needed);
    const Group& group = router.groups()[index];
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
    for (const Group& group : router.groups()) {
      for (uint32_t i = 0; i < group.size(); ++i)
        add(group.signals->type(), group.first + i, group.signals->name(i));
    }
    router.derived().projections().for_each_output(
        [&](uint32_t number, std::string_view name, size_t) { add("projection", number, name); });
    return all;
  }

  Report report() const {
    Report out{&router.routing(),
               &router.engine(),
               &router.derived(),
               {},
               values,
               scratch.values,
               scores,
               outcome};
    for (size_t i = 0; i < router.groups().size(); ++i) {
      const Group& group = router.groups()[i];
      out.types.push_back({group.signals.get(), group.first, !progress[i].pending, progress[i].moot,
                           progress[i].failed,
                           std::span(readings).subspan(group.first, group.size()),
                           progress[i].evidence});
    }
    return out;
  }

  const config::Decision* chosen() const {
    if (outcome.decision == decision::kNoDecision) return nullptr;
    return &router.routing().decisions[static_cast<size_t>(outcome.decision)];
  }

  Result<Plan> plan() const {
    if (bypassed) return plan_bypass(config, request);
    SIGNALBOX_TRY(Plan plan, plan_routed(config, request, chosen(), outcome.confidence));
    plan.recipe = router.recipe();
    plan.matched = matched();
    return plan;
  }
};

Evaluation Evaluation::begin(const config::Config& config, const Compiled& routing,
                             const engine::TextEmbedder* embedder, const ChatRequest& request,
                             HeaderLookup headers, bool bypassed) {
  return Evaluation(
      std::make_unique<State>(config, routing, embedder, request, std::move(headers), bypassed));
}

Evaluation::Evaluation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluation::Evaluation(Evaluation&&) noexcept = default;
Evaluation::~Evaluation() = default;

bool Evaluation::run_cheap() {
  if (state_->bypassed) return true;
  // Cheap signals run no model and cannot fail.
  static_cast<void>(state_->compute_while(
      [&](size_t i) { return state_->router.groups()[i].signals->cost() == Cost::kCheap; }));
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
  return state_->bypassed ? nullptr : state_->chosen();
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
