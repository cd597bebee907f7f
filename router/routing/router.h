#pragma once
// From a request to a plan: signals, then the decision, then the edits. No socket, and no clock but
// to tell how long it took; the daemon, the `route` command and the tests all come in here.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "router/config/config.h"
#include "router/models/models.h"
#include "router/request/chat_request.h"
#include "router/routing/plan.h"
#include "router/signals/inputs.h"

namespace signalbox::routing {

class RoutingProgram;
struct PlanTarget;
class Router;

/// The understanding of one request, in steps of rising cost. Not thread-safe; may be handed from
/// thread to thread. The Router and the request outlive it.
class Evaluation {
 public:
  ~Evaluation();
  Evaluation(Evaluation&&) noexcept;

  /// The plan that refuses the request because it names nobody who asks, if the configuration
  /// requires that. Looks at headers only; plan() returns the same plan.
  std::optional<Plan> refuse_stranger() const;

  /// Computes of the signals that cost microseconds those that the outcome still needs. True when
  /// it is fixed and no model needs to run, for the plan neither.
  bool run_cheap();
  /// Computes what the outcome and its plan still need, cheapest first (signals/signal.h), and
  /// those of equal cost at the same time. Runs models: milliseconds. An error of a model is
  /// returned, kOverloaded before others, and the outcome then stands on what is known. A request
  /// that has lost its patience leaves the queues of the models.
  Result<void> run_needed(const engine::Patience& patience = {});
  /// Computes every signal of the configuration, needed or not, for explanations.
  Result<void> run_all();

  /// The embedding of a text, (dim): milliseconds, or none where it is the request's own that a
  /// signal has looked at. kNotFound when there is no embedder; the embedder's errors.
  Result<std::span<const float>> embedding(std::string_view text,
                                           const engine::Patience& patience = {});

  /// The plan for what is known now. Errors: kNotFound (the client's model is unknown),
  /// kUnsupported (the decision needs a plugin or an algorithm that is not built), kOverloaded (its
  /// algorithm finds every model out of bounds). A request that is refused by
  /// policy has a plan, which says so.
  Result<Plan> plan(const RuntimeConditions& circumstances = {}) const;

  /// The decision that leads for what is known now, nullptr for none or where the client named a
  /// model, and what matches. Unlike plan(), they do not ask whether the decision can be carried
  /// out.
  const config::Decision* decision() const;
  std::vector<Plan::Matched> matched() const;

  /// Nothing more will be asked: what is still needed counts as failed with `error`, so that guards
  /// follow their on_error. For a request that is decided on what is known.
  void give_up(const Error& error);
  /// Whether signals whose model is not there could have led to another outcome.
  bool rests_on_missing() const;

  /// What it took so far.
  struct Timings {
    using TimePoint = std::chrono::steady_clock::time_point;
    struct Signals {
      std::string_view type;
      TimePoint began, ended;
      bool failed;
    };
    std::vector<Signals> signals;  // those that were read, in the configuration's order
    std::vector<signals::Inputs::Timed> passes;
    std::chrono::nanoseconds deciding;   // by rules alone
    TimePoint rules_began, rules_ended;  // the last time
  };
  Timings effort() const;
  /// Of the routing that decides; "" where the client named a model.
  std::string_view recipe() const;

  /// Signals, rules and decisions with what matched, what did not and what was never needed.
  std::string explain_json() const;   // {"signals":{...},"trace":[...]}
  std::string explain_words() const;  // several lines for people

 private:
  friend class Router;
  struct State;
  static Evaluation begin(const config::Config& config, const RoutingProgram& routing,
                          const engine::TextEmbedder* embedder, const request::ChatRequest& request,
                          signals::HeaderLookup headers, const PlanTarget& bypass);
  explicit Evaluation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Immutable; one instance serves all threads.
class Router {
 public:
  /// Embeds the examples of all signals, which takes some hundred milliseconds. kInvalid when an
  /// embedding signal is configured and there is no embedder; other signals that lack their model
  /// are unavailable, which notices() say.
  static Result<std::unique_ptr<const Router>> create(config::Config config, models::Models models);
  ~Router();

  /// The request's model says by which routing: an automatic name means the one at the top of the
  /// file, a name of an entrypoint (which may also be an automatic one) its recipe, anything else
  /// that the client has chosen a model. `headers` is asked for the fields that say who asks; what
  /// it looks at outlives the evaluation.
  Evaluation evaluate(const request::ChatRequest& request,
                      signals::HeaderLookup headers = {}) const;
  /// By the routing of that name, whatever model the request asks for. kNotFound.
  Result<Evaluation> evaluate_recipe(std::string_view recipe, const request::ChatRequest& request,
                                     signals::HeaderLookup headers = {}) const;
  const config::Config& config() const;
  const models::Models& models() const;
  /// The signals and projections of all routings by type, each name once.
  std::vector<Plan::Matched> signals() const;
  /// What an operator should know of the signals, one line each.
  const std::vector<std::string>& notices() const;

 private:
  struct Impl;
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::routing
