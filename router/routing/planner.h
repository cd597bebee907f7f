#pragma once
// Turns an outcome into a plan: chooses the model, gathers what that choice needs, and edits the
// client's bytes.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "router/memories/memories.h"
#include "router/models/models.h"
#include "router/plugins/context_compression/context_compression.h"
#include "router/plugins/memory/memory.h"
#include "router/plugins/pii/pii_mask.h"
#include "router/plugins/rag/rag.h"
#include "router/plugins/reasoning/difficulty.h"
#include "router/plugins/tools/tool_selection.h"
#include "router/retrieval/retriever.h"
#include "router/routing/domain_doubt.h"
#include "router/routing/matched_condition.h"
#include "router/routing/plan.h"
#include "router/routing/selection/selection.h"
#include "router/routing/stores.h"
#include "router/signals/inputs.h"
#include "router/signals/pii_finder.h"
#include "router/splice/object_editor.h"

namespace signalbox::routing {

/// The target of a plan: a decision, a model that the client named, or neither, which means the
/// default model.
struct PlanTarget {
  const config::Decision* decision = nullptr;
  const config::Model* named = nullptr;
  // True if the rules are bypassed; if `named` is null too, the client's model is unknown.
  bool bypassed = false;
  bool is_guarded = false;                      // bypassed, except by the guards
  bool is_masked = false;                       // bypassed, except by decisions that mask
  const config::PiiMaskPlugin* mask = nullptr;  // of the decision that masks a bypassed request
};

/// Results of the models that the plan needs. Planner::prepare() fills them in.
struct ModelResults {
  const config::Decision* decision = nullptr;  // for whose plan they are
  uint64_t moment = 0;                         // when the request began, see Memories::moment()
  bool looked_for_pii = false;
  std::vector<std::string> pii_types;  // types that were found; complete if looked_for_pii
  std::span<const float> query;        // embedding of the user's text; empty: not embedded
  plugins::ToolSimilarities tools;     // to the user's text; not ready: not compared
  // The request with personal data masked; nullopt: not masked
  std::optional<plugins::Masked> masked;
  // The effect of context_compression on both forms of the request; nullopt: it did not run
  std::optional<plugins::CompressedContext> context, native_context;
  plugins::FoundDocuments documents;             // of the plugin rag
  plugins::FoundMemories memories;               // of the plugin memory
  std::optional<request::ChatRequest> searched;  // the masked request, if it has the search's text
};

/// The name of a candidate's model at its server, which may be an adapter.
inline const std::string& upstream_name(const selection::Candidate& candidate) {
  const std::string& adapter = candidate.ref->lora_name;
  return adapter.empty() ? candidate.model->provider_model_id : adapter;
}

/// All that is known of one request when it is planned.
struct PlanInputs {
  PlanTarget target;
  double confidence = 0;                    // of the decision
  std::span<const decision::Value> values;  // by number
  std::vector<MatchedCondition> matched;
  const signals::Inputs& signal_inputs;
  const ModelResults& results;
  const RuntimeConditions& conditions;
  std::string_view recipe;                      // the routing of the decision
  std::span<const Plan::Matched> signals = {};  // all that match
};

/// Immutable and thread-safe.
class Planner {
 public:
  /// For the decisions of one routing of the configuration. `number_of` numbers the signals that
  /// the plan depends on. The configuration and the models must outlive the result. Embeds the
  /// texts that algorithms compare requests with. Each of `stores` may be null, which is like
  /// an empty one. Errors are those of classifier_of(), make_selector() and
  /// MemoryRules::create().
  static Result<Planner> create(const config::Config& config, const config::Routing& routing,
                                const models::Models& models, const Stores& stores,
                                const decision::NumberOf& number_of);

  /// Starts the results of a request.
  ModelResults begin_results() const;
  /// True if the plan depends on signals that the decision may not have needed.
  bool needs_signals(const PlanTarget& target) const;
  /// Sets needed[number] for each unknown signal that could change the plan.
  void mark_needed(const PlanTarget& target, std::span<const decision::Value> values,
                   std::vector<bool>& needed) const;
  /// The outcome of the plugin rag; a search that was not made has failed.
  static plugins::RagOutcome documents_outcome(const PlanTarget& target,
                                               const ModelResults& results);

  /// True if prepare() would run models, or would read long texts.
  bool needs_models(const PlanTarget& target, const request::ChatRequest& request) const;
  /// Runs the models, which takes milliseconds. If a result is missing because of an error, plan()
  /// assumes the worst.
  Result<void> prepare(const PlanTarget& target, signals::Inputs& inputs,
                       ModelResults& results) const;

  /// Returns the plan that refuses a request without an identity, if the configuration requires
  /// one; otherwise nullopt. Reads only headers, so that it can run before any model.
  std::optional<Plan> refuse_stranger(const signals::Inputs& inputs) const;

  /// If models have failed already, the plan uses another one: first the other models of the
  /// decision, then the fallback_models of the failed ones, unless the decision has an action.
  /// Errors: kUpstream if none is left; kInvalid if the client named an algorithm and no decision
  /// with it matches;
  /// kNotFound if the client names an unknown model; kUnsupported if the decision needs a plugin
  /// that is not built; kOverloaded if its algorithm finds every model out of bounds.
  Result<Plan> plan(const PlanInputs& inputs) const;

  /// Notices for the operator, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  Planner(const config::Config& config, const config::Routing& routing,
          const decision::NumberOf& number_of);

  using Candidates = std::vector<selection::Candidate>;
  Result<void> check_masked_types() const;
  Result<void> add_selectors(const models::Models& models);
  Result<void> add_tool_selectors(const models::Models& models);
  Result<void> add_retrievers(const models::Models& models);
  Result<std::unique_ptr<const retrieval::Retriever>> reranked(
      std::unique_ptr<const retrieval::Retriever> search, const config::Decision& decision,
      const std::string& where, const models::Models& models);
  void add_notices(bool lacks_embedder);
  selection::Candidate candidate(const config::ModelRef& ref) const;
  Candidates candidates(const PlanTarget& target) const;
  const selection::Selector* selector_of(const PlanTarget& target) const;
  bool looks_for_pii(const PlanTarget& target) const;
  /// Null if the request is not masked.
  static const config::PiiMaskPlugin* mask_of(const PlanTarget& target);
  static bool checks_grounding(const PlanTarget& target);
  static bool strips_tools(const PlanTarget& target);
  static bool compresses(const PlanTarget& target);
  void compress(const PlanTarget& target, const signals::Inputs& inputs,
                ModelResults& results) const;
  static Result<void> check_context(const PlanInputs& inputs, Plan& plan);
  static bool retrieves(const PlanTarget& target);
  /// True if the model searches, and the router does not.
  static bool offers_file_search(const PlanTarget& target);
  /// The user's text as the model gets it; nullopt if it cannot be masked.
  static std::optional<std::string_view> searched_text(const signals::Inputs& inputs,
                                                       ModelResults& results);
  void find_documents(const PlanTarget& target, signals::Inputs& inputs,
                      ModelResults& results) const;
  static Result<void> check_documents(const PlanInputs& inputs, Plan& plan);
  Result<void> add_memory_rules(bool lacks_embedder);
  const plugins::MemoryRules* memory_rules_of(const PlanTarget& target) const;
  bool declines_memories(const signals::Inputs& inputs) const;
  void find_memories(const PlanTarget& target, signals::Inputs& inputs,
                     ModelResults& results) const;
  void add_memories(const PlanInputs& inputs, Plan& plan) const;
  static std::optional<config::SystemPromptPlugin> prompt_of(const PlanInputs& inputs,
                                                             const Plan& plan,
                                                             std::string_view documents);
  static void add_prompt(const PlanInputs& inputs, const Plan& plan, json::Value messages,
                         std::vector<splice::Edit>& edits);
  static void add_prompt(const PlanInputs& inputs, const Plan& plan,
                         const request::NativeRequest& native, splice::ObjectEditor& body,
                         std::vector<splice::Edit>& edits);
  bool embeds(const PlanTarget& target) const;
  const plugins::ToolSelector* tool_selector_of(const PlanTarget& target,
                                                const request::ChatRequest& request) const;
  Result<void> begin(const PlanInputs& inputs, Plan& plan) const;
  Result<void> look_for_pii(signals::Inputs& inputs, ModelResults& results) const;
  Result<void> mask(const config::PiiMaskPlugin& plugin, signals::Inputs& inputs,
                    ModelResults& results) const;
  Candidates voice(const PlanTarget& target, std::string_view name) const;
  bool remove_failed(std::span<const std::string_view> failed, const config::Decision* decision,
                     Candidates& candidates) const;
  static void remove_forbidden(std::span<const std::string> allowed, Candidates& candidates,
                               Plan& plan);
  void remove_restricted(const ModelResults& results, Candidates& candidates, Plan& plan) const;
  void remove_unable(const PlanInputs& inputs, Candidates& candidates, Plan& plan) const;
  void require_minimum(const PlanInputs& inputs, const Candidates& candidates, Candidates painters,
                       Plan& plan) const;
  static void add_left_out(std::vector<Plan::LeftOut>& from, std::vector<Plan::LeftOut>& to);
  static Candidates begin_image(const PlanInputs& inputs, Candidates& candidates, Plan& plan);
  Result<void> add_painter(const PlanInputs& inputs, Candidates writers, Candidates painters,
                           Plan& plan) const;
  void add_writers(const PlanInputs& inputs, Candidates candidates, Plan& plan) const;
  Result<void> request_image(const PlanInputs& inputs, Plan& plan) const;
  void begin_loop(const config::Decision& decision, const Candidates& left, Plan& plan) const;
  const learning::Answerer* tool_caller(const PlanInputs& inputs) const;
  void add_tool_caller(const PlanInputs& inputs, Candidates& candidates) const;
  Result<selection::Candidate> choose(const PlanInputs& inputs, const Candidates& left,
                                      Plan& plan) const;
  size_t apply_learning(const PlanInputs& inputs, const Candidates& left,
                        const selection::Choice& choice, Plan& plan) const;
  const std::string& default_effort(const config::Model& model) const;
  void set_reasoning_of(const config::ModelRef& ref, const config::DifficultyCase* difficulty,
                        const PlanInputs& inputs, Plan& plan) const;
  const config::DifficultyCase* apply_decision(const config::ModelRef& ref,
                                               const PlanInputs& inputs, Plan& plan) const;
  void set_reply_checks(const PlanInputs& inputs, Plan& plan) const;
  std::string edit_native(const request::NativeRequest& native, const PlanInputs& inputs,
                          const config::DifficultyCase* difficulty,
                          const plugins::ToolSelection* tools, const Plan& plan) const;
  std::string edit_body(const PlanInputs& inputs, const config::DifficultyCase* difficulty,
                        const plugins::ToolSelection* tools, const Plan& plan) const;

  const config::Config& config_;
  const config::Routing& routing_;
  bool needs_decision_ = false;  // a request that no decision matches is refused
  bool has_roles_ = false;       // a routing of the file has role_bindings
  plugins::Difficulty difficulty_;
  uint32_t facts_ = decision::kNoSignal;      // the signal for requests that need facts checked
  std::vector<config::ModelRef> plain_refs_;  // one for each model, for requests without a decision
  /// For decisions with several models.
  std::map<const config::Decision*, std::unique_ptr<const selection::Selector>> selectors_;
  /// For decisions that select tools; the key nullptr is for requests without a decision.
  std::map<const config::Decision*, std::unique_ptr<const plugins::ToolSelector>> tool_selectors_;
  /// For decisions with the plugin rag.
  retrieval::Retrievers retrievers_;
  Stores stores_;
  /// For decisions with memories.
  std::map<const config::Decision*, plugins::MemoryRules> memory_rules_;
  std::vector<std::string> notices_;
  signals::PiiFinder pii_{signals::ModelChoice{}};
  double pii_threshold_ = 0;
  std::optional<DomainDoubt> doubt_;
};

}  // namespace signalbox::routing
