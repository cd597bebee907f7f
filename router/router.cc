// Router: the configuration compiled. Evaluation: one request's signals as they become known. Plan:
// the edits.

#include "router/router.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/decision/engine.h"
#include "router/explain.h"
#include "router/plugins/edit.h"
#include "router/plugins/object_editor.h"
#include "router/plugins/reasoning.h"
#include "router/plugins/system_prompt.h"
#include "router/signals/embedding.h"
#include "router/signals/keyword.h"

namespace signalbox::router {
namespace {

// The signals of one type and where their numbers begin.
struct Group {
  std::unique_ptr<const SignalType> signals;
  uint32_t first;
};

enum class State : uint8_t { kPending, kComputed, kFailed };

}  // namespace

struct Router::Impl {
  config::Config config;
  std::unique_ptr<const engine::TextEmbedder> embedder;
  std::vector<Group> groups;
  uint32_t signal_count = 0;
  std::optional<decision::Engine> engine;

  void add(std::unique_ptr<const SignalType> signals) {
    const auto size = static_cast<uint32_t>(signals->size());
    groups.push_back({std::move(signals), signal_count});
    signal_count += size;
  }

  uint32_t number_of(const config::Rule& leaf) const {
    for (const Group& group : groups) {
      if (group.signals->type() != leaf.type) continue;
      for (uint32_t i = 0; i < group.signals->size(); ++i) {
        if (group.signals->name(i) == leaf.name) return group.first + i;
      }
    }
    return decision::kNoSignal;
  }

  bool is_auto(std::string_view model) const {
    const auto& names = config.auto_model_names;
    return std::find(names.begin(), names.end(), model) != names.end();
  }

  tl::unexpected<Error> unknown_model(std::string_view name) const {
    std::string known;
    for (const std::string& each : config.auto_model_names)
      known += (known.empty() ? "" : ", ") + each;
    for (const config::Model& model : config.providers.models) known += ", " + model.name;
    return fail(Code::kNotFound, "model: unknown model \"{}\" (known: {})", name, known);
  }
};

Result<std::unique_ptr<const Router>> Router::create(
    config::Config config, std::unique_ptr<const engine::TextEmbedder> embedder) {
  auto impl = std::make_unique<Impl>();
  impl->config = std::move(config);
  impl->embedder = std::move(embedder);
  const config::Routing& routing = impl->config.routing;
  SIGNALBOX_TRY(auto keywords, KeywordSignals::create(routing.keywords));
  impl->add(std::move(keywords));
  if (!routing.embeddings.empty()) {
    if (impl->embedder == nullptr) {
      return fail(Code::kInvalid,
                  "{}: embedding signals are configured and no embedding model is given",
                  impl->config.source);
    }
    SIGNALBOX_TRY(auto embeddings,
                  EmbeddingSignals::create(routing.embeddings, impl->config.embedding_model,
                                           *impl->embedder));
    impl->add(std::move(embeddings));
  }
  impl->engine.emplace(routing, [&](const config::Rule& leaf) { return impl->number_of(leaf); });
  return std::unique_ptr<const Router>(new Router(std::move(impl)));
}

Router::Router(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Router::~Router() = default;

const config::Config& Router::config() const {
  return impl_->config;
}

struct Evaluation::State {
  struct Progress {
    router::State state = router::State::kPending;
    std::vector<Evidence> evidence;
  };

  const Router::Impl& router;
  const ChatRequest& request;
  bool bypassed;
  std::vector<Reading> readings;         // (signals)
  std::vector<decision::Value> signals;  // (signals)
  std::vector<Progress> progress;        // (groups)
  decision::Scratch scratch;
  decision::Outcome outcome;

  State(const Router::Impl& from, const ChatRequest& asked)
      : router(from),
        request(asked),
        bypassed(!from.is_auto(asked.model)),
        readings(from.signal_count),
        signals(from.signal_count),
        progress(from.groups.size()) {
    decide();
  }

  void decide() { outcome = router.engine->evaluate(signals, scratch); }

  Result<void> compute(size_t index) {
    const Group& group = router.groups[index];
    const size_t size = group.signals->size();
    const std::span<Reading> out = std::span(readings).subspan(group.first, size);
    auto done = group.signals->evaluate(request, out, progress[index].evidence);
    if (!done) {
      progress[index].state = router::State::kFailed;
      return fail_in(fmt::format("{} signals", group.signals->type()), std::move(done).error());
    }
    progress[index].state = router::State::kComputed;
    for (size_t i = 0; i < size; ++i) {
      signals[group.first + i] = decision::Value::known(out[i].matched, out[i].confidence);
    }
    decide();
    return {};
  }

  // Computes pending groups that `wanted` accepts, the cheap ones first, and goes on past a
  // failure.
  template <class Wanted>
  Result<void> compute_while(const Wanted& wanted) {
    Result<void> first_failure;
    for (const Cost cost : {Cost::kCheap, Cost::kModel}) {
      for (size_t i = 0; i < router.groups.size(); ++i) {
        const bool pending = progress[i].state == router::State::kPending;
        if (!pending || router.groups[i].signals->cost() != cost || !wanted(i)) continue;
        auto done = compute(i);
        if (!done && first_failure) first_failure = std::move(done);
      }
    }
    return first_failure;
  }

  bool is_needed(size_t index) const {
    if (outcome.fixed) return false;
    std::vector<bool> needed(signals.size());
    router.engine->mark_needed(signals, scratch, outcome, needed);
    const auto begin = needed.begin() + router.groups[index].first;
    const auto end = begin + static_cast<ptrdiff_t>(router.groups[index].signals->size());
    return std::find(begin, end, true) != end;
  }

  std::vector<std::string> matched(std::string_view type) const {
    std::vector<std::string> names;
    for (const Group& group : router.groups) {
      if (group.signals->type() != type) continue;
      for (uint32_t i = 0; i < group.signals->size(); ++i) {
        if (readings[group.first + i].matched) names.emplace_back(group.signals->name(i));
      }
    }
    return names;
  }

  Report report() const {
    Report out{&router.config.routing, &*router.engine, {}, signals, scratch.values, outcome};
    for (size_t i = 0; i < router.groups.size(); ++i) {
      const Group& group = router.groups[i];
      out.types.push_back({group.signals.get(), progress[i].state == router::State::kComputed,
                           progress[i].state == router::State::kFailed,
                           std::span(readings).subspan(group.first, group.signals->size()),
                           progress[i].evidence});
    }
    return out;
  }

  Result<Plan> plan_bypass() const {
    Plan plan;
    plan.bypassed = true;
    plan.model = router.config.providers.find(request.model);
    if (plan.model == nullptr) return router.unknown_model(request.model);
    plan.body = edited(plan, nullptr);
    return plan;
  }

  Result<Plan> plan_routed() const {
    const config::Providers& providers = router.config.providers;
    Plan plan;
    plan.matched_keywords = matched("keyword");
    plan.matched_embeddings = matched("embedding");
    plan.model = providers.find(providers.default_model);
    const config::Decision* decision = nullptr;
    if (outcome.decision != decision::kNoDecision) {
      decision = &router.config.routing.decisions[static_cast<size_t>(outcome.decision)];
      if (!decision->missing_plugins.empty()) {
        return fail(Code::kUnsupported,
                    "decision \"{}\" needs the plugin {}, which is not built yet", decision->name,
                    decision->missing_plugins.front());
      }
      plan.decision = decision->name;
      plan.category = decision->name;
      plan.confidence = outcome.confidence;
      if (!decision->model_refs.empty()) choose_model(decision->model_refs.front(), plan);
      plan.injected_system_prompt = decision->system_prompt && decision->system_prompt->enabled;
    }
    SIGNALBOX_CHECK(plan.model != nullptr);
    plan.body = edited(plan, decision);
    return plan;
  }

  // Reasoning can be switched off where there is none, and on only where the family says how.
  void choose_model(const config::ModelRef& ref, Plan& plan) const {
    const config::Providers& providers = router.config.providers;
    plan.model = providers.find(ref.model);
    SIGNALBOX_CHECK(plan.model != nullptr);
    if (!plan.model->reasoning_family.empty() || ref.use_reasoning == false)
      plan.reasoning = ref.use_reasoning;
    if (plan.reasoning == true) {
      plan.reasoning_effort =
          ref.reasoning_effort.empty() ? providers.default_reasoning_effort : ref.reasoning_effort;
    }
  }

  std::string edited(const Plan& plan, const config::Decision* decision) const {
    const json::Value root = request.document.root();
    std::vector<Edit> edits;
    ObjectEditor body(root);
    if (request.model != plan.model->provider_model_id)
      body.set("model", json::quote(plan.model->provider_model_id));
    if (plan.injected_system_prompt)
      add_system_prompt(*decision->system_prompt, *root.find("messages"), edits);
    if (plan.reasoning && !plan.model->reasoning_family.empty()) {
      const config::ReasoningFamily& family =
          router.config.providers.reasoning_families.at(plan.model->reasoning_family);
      set_reasoning(family, *plan.model, *plan.reasoning, plan.reasoning_effort, root, body, edits);
    }
    body.finish(edits);
    return apply(request.document.source(), std::move(edits));
  }
};

Evaluation Router::evaluate(const ChatRequest& request) const {
  return Evaluation(std::make_unique<Evaluation::State>(*impl_, request));
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
  return state_->bypassed ? state_->plan_bypass() : state_->plan_routed();
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
