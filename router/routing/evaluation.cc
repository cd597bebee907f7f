// Evaluates one request: holds its signals as they become known, and the outcome that follows from
// them so far.

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
  const RoutingProgram& program;
  const request::ChatRequest& request;
  const engine::TextEmbedder* embedder;
  std::list<std::string> texts;  // texts passed to embedding(), kept alive for `inputs`
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
  decision::Outcome masking;  // the decision that masks a request which names its model
  std::vector<bool> needed;   // (numbers), those that the outcome needs
  bool needed_is_known = false;
  ModelResults results;
  std::chrono::nanoseconds deciding{0};
  TimePoint rules_began, rules_ended;

  State(const config::Config& configuration, const RoutingProgram& routing_program,
        const engine::TextEmbedder* text_embedder, const request::ChatRequest& chat_request,
        signals::HeaderLookup headers, const PlanTarget& bypass_target)
      : config(configuration),
        program(routing_program),
        request(chat_request),
        embedder(text_embedder),
        inputs(chat_request, std::move(headers), text_embedder, &routing_program.compression()),
        bypass(bypass_target),
        readings(routing_program.signals()),
        facts(routing_program.signals()),
        progress(routing_program.groups().size()),
        values(routing_program.leaf_values().size()),
        scores(routing_program.leaf_values().projections().scores()),
        results(routing_program.planner().begin_results()) {
    for (size_t g = 0; g < program.groups().size(); ++g) {
      const Group& group = program.groups()[g];
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

  decision::Among among() const {
    return bypass.bypassed ? decision::Among::kGuards : decision::Among::kAll;
  }
  /// True if the rules do not apply, or only guards apply and none of them has refused the request.
  bool is_bypassed() const {
    return bypass.bypassed && (!bypass.is_guarded || outcome.decision == decision::kNoDecision);
  }
  bool chooses() const { return !bypass.bypassed || bypass.is_guarded; }
  bool evaluates() const { return chooses() || bypass.is_masked; }
  bool is_settled() const {
    return (!chooses() || outcome.fixed) && (!bypass.is_masked || masking.fixed);
  }

  void decide() {
    rules_began = std::chrono::steady_clock::now();
    program.leaf_values().evaluate(facts, values, gates, scores);
    outcome = program.engine().evaluate(values, scratch, among());
    if (bypass.is_masked)
      masking = program.engine().evaluate(values, scratch, decision::Among::kMasks);
    needed_is_known = false;
    rules_ended = std::chrono::steady_clock::now();
    deciding += rules_ended - rules_began;
  }

  // Runs the signals of one type. It touches only the state of that type, because other types run
  // at the same time.
  void evaluate_type(size_t index) {
    const Group& group = program.groups()[index];
    const std::span<signals::Reading> out = std::span(readings).subspan(group.first, group.size());
    progress[index].began = std::chrono::steady_clock::now();
    progress[index].done = group.signals->evaluate(inputs, out, progress[index].evidence);
    progress[index].pending = false;
    progress[index].ended = std::chrono::steady_clock::now();
  }

  void store_readings(size_t index) {
    const Group& group = program.groups()[index];
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

  // Returns an error if any signal of the type failed.
  Result<void> error_of(size_t index) const {
    const Group& group = program.groups()[index];
    if (!progress[index].done) return progress[index].done;
    if (std::ranges::all_of(std::span(readings).subspan(group.first, group.size()),
                            &signals::Reading::whole))
      return {};
    return fail(Code::kTooLarge, "{}", signals::kNotReadWhole);
  }

  // Runs one type after the other, because the result of one may make the next one unnecessary.
  void run_request_signals(bool all) {
    for (size_t i = 0; i < program.groups().size(); ++i) {
      if (!should_run(i, signals::Needs::kRequest, all)) continue;
      evaluate_type(i);
      store_readings(i);
      decide();
    }
  }

  // Runs signals of equal cost at the same time. The others still run after a failure. A full queue
  // is reported before other errors, since a retry may help.
  Result<void> run_model_signals(signals::Needs needs, bool all) {
    std::vector<size_t> wanted;
    std::vector<std::function<void()>> steps;
    for (size_t i = 0; i < program.groups().size(); ++i) {
      if (!should_run(i, needs, all)) continue;
      wanted.push_back(i);
      steps.emplace_back([this, i] { evaluate_type(i); });
    }
    if (wanted.empty()) return {};
    engine::run_together(steps);
    Result<void> failure;
    for (const size_t i : wanted) {
      store_readings(i);
      const Result<void> done = error_of(i);
      if (done) continue;
      if (!failure && done.error().code != Code::kOverloaded) continue;
      const std::string where = fmt::format("{} signals", program.groups()[i].signals->type());
      failure = fail_in(where, done.error());
    }
    decide();
    return failure;
  }

  // Gives up types that would fail anyway, before a model runs. If that settles the outcome, none
  // does.
  Result<void> check_lengths() {
    Result<void> failure;
    for (size_t i = 0; i < program.groups().size(); ++i) {
      const signals::SignalType& type = *program.groups()[i].signals;
      if (type.needs() == signals::Needs::kRequest || !should_run(i, type.needs(), false)) continue;
      Result<void> fits = type.check_length(inputs);
      if (fits) continue;
      failure = fail_in(fmt::format("{} signals", type.type()), fits.error());
      progress[i].pending = false;
      progress[i].done = std::move(fits);
      store_readings(i);
      decide();
    }
    return failure;
  }

  Result<void> run_model_signals(bool all) {
    Result<void> first;
    for (const auto needs :
         {signals::Needs::kEmbedder, signals::Needs::kClassifier, signals::Needs::kServer}) {
      auto done = run_model_signals(needs, all);
      const bool overloaded = !done && done.error().code == Code::kOverloaded;
      if (first || overloaded) first = std::move(done);
    }
    return first;
  }

  bool should_run(size_t index, signals::Needs needs, bool all) {
    if (!progress[index].pending || program.groups()[index].signals->needs() != needs) return false;
    return all || is_needed(index);
  }

  bool is_needed(size_t index) {
    const bool decided = is_settled();
    if (decided && !program.planner().needs_signals(target())) return false;
    if (!needed_is_known) {
      needed.assign(values.size(), false);
      if (decided) {
        program.planner().mark_needed(target(), values, needed);
      } else {
        mark_needed_by_rules();
      }
      program.leaf_values().spread_needed(needed);
      needed_is_known = true;
    }
    const Group& group = program.groups()[index];
    for (uint32_t n = group.first; n < group.first + group.size(); ++n) {
      if (needed[n] && facts[n].state == Fact::State::kPending) return true;
    }
    return false;
  }

  void mark_needed_by_rules() {
    const decision::Engine& engine = program.engine();
    if (chooses()) engine.mark_needed(values, scratch, outcome, needed, among());
    if (bypass.is_masked)
      engine.mark_needed(values, scratch, masking, needed, decision::Among::kMasks);
  }

  // One at a time: a failure may settle whether the next signal is needed.
  void give_up(const Error& error) {
    for (size_t i = 0; i < program.groups().size(); ++i) {
      if (!progress[i].pending || !is_needed(i)) continue;
      progress[i].pending = false;
      progress[i].done = tl::unexpected<Error>(error);
      store_readings(i);
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
    if (!evaluates() || !any) return false;
    std::vector<decision::Value> open_values(values.size());
    std::vector<decision::Value> open_gates(gates.size());
    std::vector<decision::Bounds> open_scores(scores.size());
    decision::Scratch open_scratch;
    program.leaf_values().evaluate(open, open_values, open_gates, open_scores);
    const auto is_open = [&](decision::Among decisions) {
      return !program.engine().evaluate(open_values, open_scratch, decisions).fixed;
    };
    return (chooses() && is_open(among())) ||
           (bypass.is_masked && is_open(decision::Among::kMasks));
  }

  // The client gets 413 if the request is too long for a signal, otherwise 503, as for a guard that
  // had no time.
  tl::unexpected<Error> unresolved(const decision::Outcome& open) const {
    for (size_t i = 0; i < progress.size(); ++i) {
      const Result<void> done = error_of(i);
      if (!done && done.error().code == Code::kTooLarge)
        return fail_in(fmt::format("{} signals", program.groups()[i].signals->type()),
                       done.error());
    }
    return fail(Code::kDeadline,
                "decision \"{}\" cannot be resolved, because a signal of its rules could not be "
                "evaluated",
                program.routing().decisions[static_cast<size_t>(open.unresolved)].name);
  }

  // A guard that had no time or no room to read the request has found nothing. Returns its error if
  // a refusal rests on that.
  std::optional<Error> unfinished_guard() const {
    if (is_bypassed() || leading_decision() == nullptr || !leading_decision()->fast_response)
      return std::nullopt;
    std::vector<Fact> calm = facts;
    std::optional<Error> why;
    for (size_t g = 0; g < program.groups().size(); ++g) {
      const Group& group = program.groups()[g];
      const Result<void> done = error_of(g);
      if (done || !is_passing(done.error().code)) continue;
      for (uint32_t n = group.first; n < group.first + group.size(); ++n) {
        if (facts[n].state != Fact::State::kFailed) continue;
        calm[n] = {.state = Fact::State::kKnown};
        why = fail_in(fmt::format("{} signals", group.signals->type()), done.error()).value();
      }
    }
    if (!why) return std::nullopt;
    std::vector<decision::Value> calm_values(values.size());
    std::vector<decision::Value> calm_gates(gates.size());
    std::vector<decision::Bounds> calm_scores(scores.size());
    decision::Scratch calm_scratch;
    program.leaf_values().evaluate(calm, calm_values, calm_gates, calm_scores);
    const decision::Outcome without = program.engine().evaluate(calm_values, calm_scratch, among());
    if (without.decision == outcome.decision) return std::nullopt;
    if (why->code == Code::kDeadline) {
      why->message = fmt::format(
          "decision \"{}\": {}; the request was not judged. global.services.http.decision_timeout "
          "({} ms) limits the time",
          leading_decision()->name, why->message, config.http.decision_timeout.count());
    }
    return why;
  }

  std::vector<Plan::Matched> matched() const {
    std::vector<Plan::Matched> all;
    const auto add = [&](std::string_view type, uint32_t number, std::string_view name) {
      if (!values[number].is_match()) return;
      if (all.empty() || all.back().type != type) all.push_back({type, {}});
      all.back().names.emplace_back(name);
    };
    for (const Group& group : program.groups()) {
      for (uint32_t i = 0; i < group.size(); ++i)
        add(group.signals->type(), group.first + i, group.signals->name(i));
    }
    program.leaf_values().projections().for_each_output(
        [&](uint32_t number, std::string_view name, size_t) { add("projection", number, name); });
    return all;
  }

  Report report() const {
    Report out{&program.routing(),
               &program.engine(),
               &program.leaf_values(),
               {},
               values,
               scratch.values,
               scores,
               outcome,
               masking.decision,
               bypass.named == nullptr ? std::string_view() : bypass.named->name};
    // Guards that do not bind have no say.
    if (!chooses()) out.outcome = {.fixed = masking.fixed};
    for (size_t i = 0; i < program.groups().size(); ++i) {
      const Group& group = program.groups()[i];
      out.types.push_back({group.signals.get(), group.first, !progress[i].pending, progress[i].moot,
                           !progress[i].done,
                           std::span(readings).subspan(group.first, group.size()),
                           progress[i].evidence});
    }
    return out;
  }

  const config::Decision* decision_of(const decision::Outcome& found) const {
    if (found.decision == decision::kNoDecision) return nullptr;
    return &program.routing().decisions[static_cast<size_t>(found.decision)];
  }
  const config::Decision* leading_decision() const { return decision_of(outcome); }

  PlanTarget target() const {
    PlanTarget out = is_bypassed() ? bypass : PlanTarget{.decision = leading_decision()};
    if (const config::Decision* masked_by = decision_of(masking)) out.mask = &*masked_by->pii_mask;
    return out;
  }

  std::vector<MatchedCondition> matched_conditions() const {
    if (is_bypassed() || leading_decision() == nullptr) return {};
    std::vector<MatchedCondition> out = find_matched_conditions(
        program.engine(), static_cast<size_t>(outcome.decision), scratch.values,
        [this](auto type, auto name) { return evidence_of(type, name); });
    for_each_unsupported_language(
        [&](std::string_view type, std::string_view name, const signals::Reading& reading) {
          // A condition may also match because its signal failed.
          if (!reading.matched) return;
          for (MatchedCondition& each : out) {
            if (each.type == type && each.name == name)
              each.unsupported_language = reading.unsupported_language;
          }
        });
    return out;
  }

  // Calls visit(type, name, reading) for each signal that found an unsupported language.
  template <class Visit>
  void for_each_unsupported_language(const Visit& visit) const {
    for (size_t g = 0; g < program.groups().size(); ++g) {
      const Group& group = program.groups()[g];
      if (!progress[g].done) continue;
      for (uint32_t i = 0; i < group.size(); ++i) {
        const signals::Reading& reading = readings[group.first + i];
        if (!reading.unsupported_language.empty())
          visit(group.signals->type(), group.signals->name(i), reading);
      }
    }
  }

  std::vector<std::string_view> evidence_of(std::string_view type, std::string_view name) const {
    std::vector<std::string_view> out;
    for (size_t g = 0; g < program.groups().size(); ++g) {
      const signals::SignalType& signals = *program.groups()[g].signals;
      if (signals.type() != type) continue;
      for (const signals::Evidence& evidence : progress[g].evidence) {
        if (signals.name(evidence.signal) == name) out.push_back(evidence.text);
      }
    }
    return out;
  }

  bool plan_needs_models() {
    if (program.planner().needs_models(target(), request)) return true;
    for (size_t i = 0; i < progress.size(); ++i) {
      if (progress[i].pending && is_needed(i)) return true;
    }
    return false;
  }

  // Errors that pass with time, or with a shorter request.
  static bool is_passing(Code code) {
    return code == Code::kDeadline || code == Code::kOverloaded || code == Code::kTooLarge;
  }

  // Another decision masks and adds other things. Without results, a plan assumes the worst.
  const ModelResults& results_for_plan() const {
    static const ModelResults none;
    const bool is_other = results.decision != nullptr && results.decision != target().decision;
    return is_other ? none : results;
  }

  Result<void> prepare() { return program.planner().prepare(target(), inputs, results); }

  std::optional<Plan> refuse_stranger() const {
    std::optional<Plan> plan = program.planner().refuse_stranger(inputs);
    if (plan && !is_bypassed()) plan->recipe = program.recipe();
    return plan;
  }

  Result<Plan> plan(const RuntimeConditions& conditions) const {
    if (chooses() && outcome.unresolved != decision::kNoDecision) return unresolved(outcome);
    if (masking.unresolved != decision::kNoDecision) return unresolved(masking);
    if (auto unfinished = unfinished_guard()) return tl::unexpected<Error>(*std::move(unfinished));
    return make_plan(conditions);
  }

  // Its only result is `plan`, so a plan, which is large, is not moved.
  Result<Plan> make_plan(const RuntimeConditions& conditions) const {
    std::vector<Plan::Matched> signals;
    if (!is_bypassed()) signals = matched();
    Result<Plan> plan =
        program.planner().plan({target(), outcome.confidence, values, matched_conditions(), inputs,
                                results_for_plan(), conditions, program.recipe(), signals});
    if (plan && !is_bypassed()) {
      plan->recipe = program.recipe();
      plan->matched = std::move(signals);
    }
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

void Evaluation::set_previous_model(std::string_view model) {
  state_->inputs.set_previous_model(model);
}

bool Evaluation::run_cheap() {
  if (state_->evaluates()) {
    state_->run_request_signals(false);
    if (!state_->is_settled()) return false;
    state_->run_request_signals(false);  // the plan may need more
  }
  return !state_->plan_needs_models();
}

Result<void> Evaluation::run_needed(const engine::Patience& patience) {
  state_->inputs.set_patience(patience);
  Result<void> done;
  if (state_->evaluates()) {
    state_->run_request_signals(false);
    done = state_->check_lengths();
    if (auto ran = state_->run_model_signals(false); done) done = std::move(ran);
    // The decision is fixed now; its plan may need signals that the decision did not.
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

plugins::RagOutcome Evaluation::documents_outcome() const {
  return Planner::documents_outcome(state_->target(), state_->results_for_plan());
}

bool Evaluation::rests_on_missing() const {
  return state_->rests_on_missing();
}

std::string_view Evaluation::unsupported_language() const {
  std::string_view out;
  state_->for_each_unsupported_language([&](auto, auto, const signals::Reading& reading) {
    if (out.empty()) out = reading.unsupported_language;
  });
  return out;
}

Evaluation::Timings Evaluation::timings() const {
  Timings out{
      {}, state_->inputs.passes(), state_->deciding, state_->rules_began, state_->rules_ended};
  for (size_t i = 0; i < state_->progress.size(); ++i) {
    const State::Progress& progress = state_->progress[i];
    if (progress.began == Timings::TimePoint{}) continue;
    out.signals.push_back({state_->program.groups()[i].signals->type(), progress.began,
                           progress.ended, !progress.done});
  }
  return out;
}

std::string_view Evaluation::recipe() const {
  return state_->is_bypassed() ? std::string_view{} : state_->program.recipe();
}

std::string_view Evaluation::requested_recipe() const {
  return state_->bypass.bypassed ? std::string_view{} : state_->program.recipe();
}

std::optional<Plan> Evaluation::refuse_stranger() const {
  return state_->refuse_stranger();
}

Result<Plan> Evaluation::plan(const RuntimeConditions& conditions) const {
  return state_->plan(conditions);
}

const config::Decision* Evaluation::decision() const {
  return state_->is_bypassed() ? nullptr : state_->leading_decision();
}

std::vector<Plan::Matched> Evaluation::matched() const {
  return state_->matched();
}

std::string Evaluation::explain_json() const {
  return routing::explain_json(state_->report());
}

std::string Evaluation::explain_words() const {
  const PlanTarget& bypass = state_->bypass;
  const std::string_view requested = state_->request.model;
  if (bypass.named != nullptr && bypass.named->name != requested)
    return "The client has chosen to skip the router; the default model answers.";
  if (state_->bypass.bypassed && state_->evaluates()) {
    return fmt::format("The client names the model {}; only decisions that {} are evaluated.\n{}",
                       requested, state_->chooses() ? "refuse, mask or have an action" : "mask",
                       routing::explain_words(state_->report()));
  }
  if (bypass.bypassed)
    return fmt::format("The client names the model {}; nothing is decided.", requested);
  return routing::explain_words(state_->report());
}

}  // namespace signalbox::routing
