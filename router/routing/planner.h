#pragma once
// From an outcome to a plan: the model, what else is found out about the request for that, and the
// edits of the client's bytes.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "router/models/models.h"
#include "router/plugins/pii/pii_mask.h"
#include "router/plugins/reasoning/difficulty.h"
#include "router/plugins/tools/tool_selection.h"
#include "router/routing/domain_doubt.h"
#include "router/routing/matched_condition.h"
#include "router/routing/plan.h"
#include "router/routing/selection/selection.h"
#include "router/signals/inputs.h"
#include "router/signals/pii_finder.h"

namespace signalbox::routing {

/// What is planned for: a decision, a model without one, or neither, which is the default model.
struct PlanTarget {
  const config::Decision* decision = nullptr;
  const config::Model* named = nullptr;
  bool bypassed = false;  // nothing was decided; without a model, the client's is unknown
};

/// What models were asked for the plan's sake. Filled by Planner::prepare().
struct ModelResults {
  bool looked_for_pii = false;
  std::vector<std::string> pii_types;  // that were found; complete if looked_for_pii
  std::span<const float> query;        // the user's text embedded; empty: it was not
  plugins::ToolSimilarities tools;     // with the user's text; not ready: they were not compared
  std::optional<plugins::Masked>
      masked;  // the request without personal data; none: it was not masked
};

/// What is known of one request when it is planned.
struct PlanInputs {
  PlanTarget subject;
  double confidence = 0;                    // of the decision
  std::span<const decision::Value> values;  // by number
  std::vector<MatchedCondition> grounds;
  const signals::Inputs& inputs;
  const ModelResults& prepared;
  const RuntimeConditions& circumstances;
};

/// Immutable and thread-safe.
class Planner {
 public:
  /// For the decisions of a routing of the configuration. Numbers what it asks of signals by
  /// `number_of`. The configuration and the models outlive the result. Embeds what algorithms
  /// compare requests with. Errors are classifier_of()'s and make_selector()'s.
  static Result<Planner> create(const config::Config& config, const config::Routing& routing,
                                const models::Models& models, const decision::NumberOf& number_of);

  /// Whether the plan depends on signals that the decision may have done without.
  bool asks_signals(const PlanTarget& subject) const;
  /// Sets needed[number] for those that are unknown and would change the plan.
  void mark_needed(const PlanTarget& subject, std::span<const decision::Value> values,
                   std::vector<bool>& needed) const;
  /// Whether prepare() would run models.
  bool needs_models(const PlanTarget& subject, const request::ChatRequest& request) const;
  /// Runs them: milliseconds. What an error leaves unknown, plan() takes for the worst.
  Result<void> prepare(const PlanTarget& subject, signals::Inputs& inputs,
                       ModelResults& prepared) const;

  /// The plan that refuses a request from nobody, if the configuration wants to know who asks.
  /// Looks at headers only, so that it can come before any model.
  std::optional<Plan> refuse_stranger(const signals::Inputs& inputs) const;

  /// Where models have failed already, the plan is for one of the others: of the rest of the
  /// decision's, or of the fallback_models of those that failed; kUpstream when there is none.
  /// kNotFound for a model that the client names and nobody has; kUnsupported when the decision
  /// needs a plugin or an algorithm that is not built; kOverloaded when its algorithm finds every
  /// model out of bounds.
  Result<Plan> plan(const PlanInputs& findings) const;

  /// What an operator should know, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  Planner(const config::Config& config, const config::Routing& routing,
          const decision::NumberOf& number_of);

  using Candidates = std::vector<selection::Candidate>;
  Result<void> check_masked_types() const;
  Result<void> add_selectors(const engine::TextEmbedder* embedder);
  Result<void> add_tool_selectors(const engine::TextEmbedder* embedder);
  void add_notices(bool has_embedder);
  selection::Candidate candidate(const config::ModelRef& ref) const;
  Candidates candidates(const PlanTarget& subject) const;
  const selection::Selector* selector_of(const PlanTarget& subject) const;
  bool looks_for_pii(const PlanTarget& subject) const;
  static bool masks(const PlanTarget& subject);
  static bool grounds(const PlanTarget& subject);
  bool embeds(const PlanTarget& subject) const;
  const plugins::ToolSelector* tool_selector_of(const PlanTarget& subject,
                                                const request::ChatRequest& request) const;
  bool needs_unbuilt(const config::Decision& decision) const;
  Result<void> look_for_pii(signals::Inputs& inputs, ModelResults& prepared) const;
  Result<void> mask(const config::PiiMaskPlugin& plugin, signals::Inputs& inputs,
                    ModelResults& prepared) const;
  bool remove_failed(std::span<const std::string_view> failed, Candidates& candidates) const;
  void remove_restricted(const ModelResults& prepared, Candidates& candidates, Plan& plan) const;
  Result<selection::Candidate> chosen(const PlanInputs& findings, const Candidates& left,
                                      Plan& plan) const;
  void set_reasoning_of(const config::ModelRef& ref, const config::DifficultyCase* difficulty,
                        const PlanInputs& findings, Plan& plan) const;
  void watch_reply(const PlanInputs& findings, Plan& plan) const;
  std::string edited(const PlanInputs& findings, const config::DifficultyCase* difficulty,
                     const plugins::ToolChoice* tools, const Plan& plan) const;

  const config::Config& config_;
  const config::Routing& routing_;
  plugins::Difficulty difficulty_;
  uint32_t facts_ = decision::kNoSignal;      // whether a request needs facts checked
  std::vector<config::ModelRef> plain_refs_;  // one a model, for requests without a decision's
  /// Of the decisions with several models; nullptr for an algorithm that is not built.
  std::map<const config::Decision*, std::unique_ptr<const selection::Selector>> selectors_;
  /// Of decisions that choose tools; nullptr is for requests without a decision.
  std::map<const config::Decision*, std::unique_ptr<const plugins::ToolSelector>> tool_selectors_;
  std::vector<std::string> notices_;
  signals::PiiFinder pii_{signals::ModelChoice{}};
  double pii_threshold_ = 0;
  std::optional<DomainDoubt> doubt_;
};

}  // namespace signalbox::routing
