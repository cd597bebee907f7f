#pragma once
// Turns a request into a plan: signals first, then the decision, then the edits. It opens no socket
// and reads the clock only to measure durations. The daemon, the `route` command and the tests all
// enter here.

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
#include "router/routing/stores.h"
#include "router/signals/inputs.h"

namespace signalbox::routing {

class RoutingProgram;
struct PlanTarget;
class Router;

/// Evaluates one request in steps of rising cost. Not thread-safe, but it may move between threads.
/// The Router and the request must outlive it.
class Evaluation {
 public:
  ~Evaluation();
  Evaluation(Evaluation&&) noexcept;

  /// Returns the plan that refuses a request without an identity, if the configuration requires
  /// one; otherwise nullopt. Reads only headers. plan() returns the same plan.
  std::optional<Plan> refuse_stranger() const;

  /// Computes those cheap signals (microseconds) that the outcome still depends on. Returns true if
  /// the outcome is fixed and neither it nor the plan needs a model.
  bool run_cheap();
  /// Computes the signals that the outcome and its plan still need, cheapest first
  /// (signals/signal.h); signals of equal cost run at the same time. Runs models, which takes
  /// milliseconds. Returns the error of a model, kOverloaded before others; the outcome then rests
  /// on the signals that are known. When `patience` runs out, the request leaves the queues of the
  /// models.
  Result<void> run_needed(const engine::Patience& patience = {});
  /// Computes every signal of the configuration, for explanations.
  Result<void> run_all();

  /// The embedding of a text, (dim). Takes milliseconds, or no time if a signal has already
  /// embedded the request's own text. kNotFound if there is no embedder; otherwise the embedder's
  /// errors.
  Result<std::span<const float>> embedding(std::string_view text,
                                           const engine::Patience& patience = {});

  /// The plan for the signals that are known now. Errors: kNotFound (the client named an unknown
  /// model), kUnsupported (the decision needs a plugin that is not built),
  /// kOverloaded (the algorithm finds every model out of bounds). A request that policy refuses
  /// gets a plan with the refusal, not an error.
  Result<Plan> plan(const RuntimeConditions& conditions = {}) const;

  /// The leading decision for the signals that are known now (nullptr if there is none or if the
  /// client named a model), and the signals that match. Unlike plan(), these do not check whether
  /// the decision can be carried out.
  const config::Decision* decision() const;
  std::vector<Plan::Matched> matched() const;

  /// Stops the evaluation and decides on the known signals. Signals that are still needed count as
  /// failed with `error`, so that guards follow their on_error.
  void give_up(const Error& error);
  /// True if signals without a model could have changed the outcome.
  bool rests_on_missing() const;
  /// The outcome of the plugin rag, also for a request that is refused without documents.
  plugins::RagOutcome documents_outcome() const;
  /// The language of a text that a guard read and does not support, if it is certain and the guard
  /// found nothing; otherwise "". Static.
  std::string_view unsupported_language() const;

  /// Durations so far.
  struct Timings {
    using TimePoint = std::chrono::steady_clock::time_point;
    struct Signals {
      std::string_view type;
      TimePoint began, ended;
      bool failed;
    };
    std::vector<Signals> signals;  // those that were evaluated, in the order of the configuration
    std::vector<signals::Inputs::ModelPass> passes;
    std::chrono::nanoseconds deciding;   // by rules alone
    TimePoint rules_began, rules_ended;  // of the last evaluation of the rules
  };
  Timings timings() const;
  /// Sets the model that answered last in the conversation. The name must outlive this object. Call
  /// before anything is computed.
  void set_previous_model(std::string_view model);
  /// The name of the routing that decides; "" if the client named a model.
  std::string_view recipe() const;
  /// The routing that the client's model name selects; "" if it is the name of a model, whatever is
  /// decided.
  std::string_view requested_recipe() const;

  /// Signals, rules and decisions: which matched, which did not, and which were never needed.
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
  /// Embeds the examples of all signals, which takes some hundred milliseconds. kInvalid if an
  /// embedding signal is configured and there is no embedder. Other signals without their model are
  /// unavailable; notices() reports them.
  /// `stores` are those that the plugins memory and rag use.
  static Result<std::unique_ptr<const Router>> create(config::Config config, models::Models models,
                                                      const Stores& stores = {});
  ~Router();

  /// The request's model selects the routing: an automatic name selects the one at the top of the
  /// file, a name of an entrypoint (which may also be an automatic name) its recipe, or the recipe
  /// of its rule for the path and the headers of the request; without such a rule the plan is
  /// kNotFound. Any other name is a model that the client has chosen.
  /// `headers` looks up the fields of the request, and its path as ":path"; the data behind it must
  /// outlive the evaluation.
  Evaluation evaluate(const request::ChatRequest& request,
                      signals::HeaderLookup headers = {}) const;
  /// Uses the routing of that name, whatever model the request names. kNotFound if there is none.
  Result<Evaluation> evaluate_recipe(std::string_view recipe, const request::ChatRequest& request,
                                     signals::HeaderLookup headers = {}) const;
  const config::Config& config() const;
  const models::Models& models() const;
  /// True if requests that name a model may be masked.
  bool masks_named_models() const;
  /// The signals and projections of all routings by type, each name once.
  std::vector<Plan::Matched> signals() const;
  /// Notices for the operator about the signals, one line each.
  const std::vector<std::string>& notices() const;

 private:
  struct Impl;
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::routing
