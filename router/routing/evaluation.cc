// One request's signals as they become known, and what follows of them so far.

#include "router/routing/router.h"

#include <algorithm>
#include <functional>
#include <list>

#include "engine/parallel.h"
#include "router/routing/explain.h"
#include "router/routing/planner.h"
#include "router/routing/routing_program.h"

namespace signalbox::routing {

using decision::Fact;

struct Evaluation::State {
  using Group = RoutingProgram::Group;
  using TimePoint = Timings::TimePoint;
  struct Progress {
    bool pending = true;
    bool moot = false;
    Result<void> done = {};
    std::vector<signals::Evidence> evidence;
    TimePoint began = {}, ended = {};
  };

  const config::Config& config;
  const RoutingProgram& router;
  const request::ChatRequest& request;
  const engine::TextEmbedder* embedder;
  std::list<std::string> texts;  // that were asked for, where the inputs can find them again
  signals::Inputs inputs;
  const PlanTarget bypass;
  std::vector<signals::Reading> readings;  // (signals)
  std::vector<Fact> facts;                 // (signals)
  std::vector<Progress> progress;          // (groups)
  std::vector<decision::Value> values;     // (numbers)
  std::vector<decision::Bounds> scores;
  std::vector<decision::Value> gates;
  decision::Scratch scratch;
  decision::Outcome outcome;
  std::vector<bool> needed;  // (numbers), for the outcome
  bool needed_is_known = false;
  ModelResults prepared;
  std::chrono::nanoseconds deciding{0};
  TimePoint rules_began, rules_ended;

  State(const config::Config& of, const RoutingProgram& by, const engine::TextEmbedder* embeds,
        const request::ChatRequest& asked, signals::HeaderLookup headers, const PlanTarget& around)
      : config(of),
        router(by),
        request(asked),
        embedder(embeds),
        inputs(asked, std::move(headers), embeds, &by.compression()),
        bypass(around),
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
    rules_began = std::chrono::steady_clock::now();
    router.derived().evaluate(facts, values, gates, scores);
    outcome = router.engine().evaluate(values, scratch);
    needed_is_known = false;
    rules_ended = std::chrono::steady_clock::now();
    deciding += rules_ended - rules_began;
  }

  // Runs the signals of one type. Touches what is of this type alone: others run at the same time.
  void read(size_t index) {
    const Group& group = router.groups()[index];
    const std::span<signals::Reading> out = std::span(readings).subspan(group.first, group.size());
    progress[index].began = std::chrono::steady_clock::now();
    progress[index].done = group.signals->evaluate(inputs, out, progress[index].evidence);
    progress[index].pending = false;
    progress[index].ended = std::chrono::steady_clock::now();
  }

  void take(size_t index) {
    const Group& group = router.groups()[index];
    const bool done = progress[index].done.has_value();
    for (uint32_t n = group.first; n < group.first + group.size(); ++n) {
      Fact& fact = facts[n];
      if (fact.state == Fact::State::kUnavailable) continue;
      fact.state = done ? Fact::State::kKnown : Fact::State::kFailed;
      if (!done) continue;
      if (!readings[n].known) fact.state = Fact::State::kUnavailable;
      if (!readings[n].whole) fact.state = Fact::State::kFailed;
      fact.matched = readings[n].matched;
      fact.confidence = readings[n].confidence;
      fact.score = readings[n].score;
    }
  }

  // A failure of any of its signals.
  Result<void> outcome_of(size_t index) const {
    const Group& group = router.groups()[index];
    if (!progress[index].done) return progress[index].done;
    if (std::ranges::all_of(std::span(readings).subspan(group.first, group.size()),
                            &signals::Reading::whole))
      return {};
    return fail(Code::kTooLarge, "{}", signals::kNotReadWhole);
  }

  // One after the other: each may settle what the next would be asked for.
  void run_request_signals(bool all) {
    for (size_t i = 0; i < router.groups().size(); ++i) {
      if (!is_wanted(i, signals::Needs::kRequest, all)) continue;
      read(i);
      take(i);
      decide();
    }
  }

  // Signals of one cost at the same time. They go on past a failure; a queue that is full is told
  // first, since trying again may help.
  Result<void> run_model_signals(signals::Needs needs, bool all) {
    std::vector<size_t> wanted;
    std::vector<std::function<void()>> steps;
    for (size_t i = 0; i < router.groups().size(); ++i) {
      if (!is_wanted(i, needs, all)) continue;
      wanted.push_back(i);
      steps.emplace_back([this, i] { read(i); });
    }
    if (wanted.empty()) return {};
    engine::run_together(steps);
    Result<void> failure;
    for (const size_t i : wanted) {
      take(i);
      const Result<void> done = outcome_of(i);
      if (done) continue;
      if (!failure && done.error().code != Code::kOverloaded) continue;
      const std::string where = fmt::format("{} signals", router.groups()[i].signals->type());
      failure = fail_in(where, done.error());
    }
    decide();
    return failure;
  }

  Result<void> run_model_signals(bool all) {
    auto cheaper = run_model_signals(signals::Needs::kEmbedder, all);
    auto dearer = run_model_signals(signals::Needs::kClassifier, all);
    const bool overloaded = !dearer && dearer.error().code == Code::kOverloaded;
    return cheaper || overloaded ? dearer : cheaper;
  }

  bool is_wanted(size_t index, signals::Needs needs, bool all) {
    if (!progress[index].pending || router.groups()[index].signals->needs() != needs) return false;
    return all || is_needed(index);
  }

  bool is_needed(size_t index) {
    const bool decided = bypass.bypassed || outcome.fixed;
    if (decided && !router.planner().asks_signals(subject())) return false;
    if (!needed_is_known) {
      needed.assign(values.size(), false);
      if (decided) {
        router.planner().mark_needed(subject(), values, needed);
      } else {
        router.engine().mark_needed(values, scratch, outcome, needed);
      }
      router.derived().spread_needed(needed);
      needed_is_known = true;
    }
    const Group& group = router.groups()[index];
    for (uint32_t n = group.first; n < group.first + group.size(); ++n) {
      if (needed[n] && facts[n].state == Fact::State::kPending) return true;
    }
    return false;
  }

  // One at a time: what failed may settle whether the next is needed.
  void give_up(const Error& error) {
    for (size_t i = 0; i < router.groups().size(); ++i) {
      if (!progress[i].pending || !is_needed(i)) continue;
      progress[i].pending = false;
      progress[i].done = tl::unexpected<Error>(error);
      take(i);
      decide();
    }
  }

  bool rests_on_missing() const {
    std::vector<Fact> open = facts;
    bool any = false;
    for (Fact& fact : open) {
      if (fact.state != Fact::State::kUnavailable) continue;
      fact.state = Fact::State::kPending;
      any = true;
    }
    if (bypass.bypassed || !any) return false;
    std::vector<decision::Value> open_values(values.size());
    std::vector<decision::Value> open_gates(gates.size());
    std::vector<decision::Bounds> open_scores(scores.size());
    decision::Scratch open_scratch;
    router.derived().evaluate(open, open_values, open_gates, open_scores);
    return !router.engine().evaluate(open_values, open_scratch).fixed;
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
                           !progress[i].done,
                           std::span(readings).subspan(group.first, group.size()),
                           progress[i].evidence});
    }
    return out;
  }

  const config::Decision* chosen() const {
    if (outcome.decision == decision::kNoDecision) return nullptr;
    return &router.routing().decisions[static_cast<size_t>(outcome.decision)];
  }

  PlanTarget subject() const { return bypass.bypassed ? bypass : PlanTarget{.decision = chosen()}; }

  std::vector<MatchedCondition> grounds() const {
    if (bypass.bypassed || chosen() == nullptr) return {};
    return grounds_of(router.engine(), static_cast<size_t>(outcome.decision), scratch.values,
                      [this](auto type, auto name) { return evidence_of(type, name); });
  }

  std::vector<std::string_view> evidence_of(std::string_view type, std::string_view name) const {
    std::vector<std::string_view> out;
    for (size_t g = 0; g < router.groups().size(); ++g) {
      const signals::SignalType& signals = *router.groups()[g].signals;
      if (signals.type() != type) continue;
      for (const signals::Evidence& evidence : progress[g].evidence) {
        if (signals.name(evidence.signal) == name) out.push_back(evidence.text);
      }
    }
    return out;
  }

  bool plan_needs_models() {
    if (router.planner().needs_models(subject(), request)) return true;
    for (size_t i = 0; i < progress.size(); ++i) {
      if (progress[i].pending && is_needed(i)) return true;
    }
    return false;
  }

  Result<void> prepare() { return router.planner().prepare(subject(), inputs, prepared); }

  std::optional<Plan> refuse_stranger() const {
    std::optional<Plan> plan = router.planner().refuse_stranger(inputs);
    if (plan && !bypass.bypassed) plan->recipe = router.recipe();
    return plan;
  }

  Result<Plan> plan(const RuntimeConditions& circumstances) const {
    SIGNALBOX_TRY(Plan plan, router.planner().plan({subject(), outcome.confidence, values,
                                                    grounds(), inputs, prepared, circumstances}));
    if (bypass.bypassed) return plan;
    plan.recipe = router.recipe();
    plan.matched = matched();
    return plan;
  }
};

Evaluation Evaluation::begin(const config::Config& config, const RoutingProgram& routing,
                             const engine::TextEmbedder* embedder,
                             const request::ChatRequest& request, signals::HeaderLookup headers,
                             const PlanTarget& bypass) {
  return Evaluation(
      std::make_unique<State>(config, routing, embedder, request, std::move(headers), bypass));
}

Evaluation::Evaluation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluation::Evaluation(Evaluation&&) noexcept = default;
Evaluation::~Evaluation() = default;

bool Evaluation::run_cheap() {
  if (!state_->bypass.bypassed) {
    state_->run_request_signals(false);
    if (!state_->outcome.fixed) return false;
    state_->run_request_signals(false);  // its plan may ask for more
  }
  return !state_->plan_needs_models();
}

Result<void> Evaluation::run_needed(const engine::Patience& patience) {
  state_->inputs.set_patience(patience);
  Result<void> done;
  if (!state_->bypass.bypassed) {
    state_->run_request_signals(false);
    done = state_->run_model_signals(false);
    // Once the decision stands, its plan may need what the decision did not.
    state_->run_request_signals(false);
    if (auto more = state_->run_model_signals(false); done) done = std::move(more);
  }
  auto prepared = state_->prepare();
  return done ? prepared : done;
}

Result<void> Evaluation::run_all() {
  state_->run_request_signals(true);
  auto done = state_->run_model_signals(true);
  auto prepared = state_->prepare();
  return done ? prepared : done;
}

Result<std::span<const float>> Evaluation::embedding(std::string_view text,
                                                     const engine::Patience& patience) {
  if (state_->embedder == nullptr) return fail(Code::kNotFound, "there is no embedding model");
  state_->inputs.set_patience(patience);
  const std::string_view own = state_->request.user_text();
  return state_->inputs.embedding(text == own ? own
                                              : std::string_view(state_->texts.emplace_back(text)));
}

void Evaluation::give_up(const Error& error) {
  state_->give_up(error);
}

bool Evaluation::rests_on_missing() const {
  return state_->rests_on_missing();
}

Evaluation::Timings Evaluation::effort() const {
  Timings out{
      {}, state_->inputs.passes(), state_->deciding, state_->rules_began, state_->rules_ended};
  for (size_t i = 0; i < state_->progress.size(); ++i) {
    const State::Progress& progress = state_->progress[i];
    if (progress.began == Timings::TimePoint{}) continue;
    out.signals.push_back({state_->router.groups()[i].signals->type(), progress.began,
                           progress.ended, !progress.done});
  }
  return out;
}

std::string_view Evaluation::recipe() const {
  return state_->bypass.bypassed ? std::string_view{} : state_->router.recipe();
}

std::optional<Plan> Evaluation::refuse_stranger() const {
  return state_->refuse_stranger();
}

Result<Plan> Evaluation::plan(const RuntimeConditions& circumstances) const {
  return state_->plan(circumstances);
}

const config::Decision* Evaluation::decision() const {
  return state_->bypass.bypassed ? nullptr : state_->chosen();
}

std::vector<Plan::Matched> Evaluation::matched() const {
  return state_->matched();
}

std::string Evaluation::explain_json() const {
  return routing::explain_json(state_->report());
}

std::string Evaluation::explain_words() const {
  const PlanTarget& bypass = state_->bypass;
  const std::string_view asked = state_->request.model;
  if (bypass.named != nullptr && bypass.named->name != asked)
    return "The client asks to skip the router; the default model answers.";
  if (bypass.bypassed)
    return fmt::format("The client names the model {}; nothing is decided.", asked);
  return routing::explain_words(state_->report());
}

}  // namespace signalbox::routing
