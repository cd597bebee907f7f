// `global.router`: the router itself.

#include <algorithm>

#include "router/config/algorithms.h"
#include "router/config/global_tables.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

void add_auto_name(Config& config, std::string name) {
  for (const std::string& known : config.auto_model_names) {
    if (known == name) return;
  }
  config.auto_model_names.push_back(std::move(name));
}

Value<Config> auto_name() {
  return {"a string",
          [](Reader& reader, const yaml::Node& node, Config& out) {
            std::string name;
            read_text(reader, node, name);
            if (!name.empty()) add_auto_name(out, std::move(name));
          },
          describe_text};
}

Value<Config> auto_names() {
  const Value<Config> all = texts(&Config::auto_model_names);
  return {all.expected,
          [](Reader& reader, const yaml::Node& node, Config& out) {
            std::vector<std::string> names;
            read_texts(reader, node, names);
            for (std::string& name : names) add_auto_name(out, std::move(name));
          },
          all.describe};
}

// A key that lands in config.router.
Value<Config> setting(const Value<RouterSettings>& value) {
  return inside(&Config::router, value);
}

const Section<StreamedBody>& streamed_body_section() {
  using S = StreamedBody;
  static const Section<S> section{{
      optional("enabled", boolean(&S::enabled), "read bodies as they come"),
      optional("max_bytes", integer(&S::max_bytes, 0, int64_t{1} << 40), "of a body"),
      optional("timeout_sec", count(&S::timeout_sec), "for it to come"),
  }};
  return section;
}

const Section<SkipProcessing>& skip_processing_section() {
  static const Section<SkipProcessing> section{{
      optional("enabled", boolean(&SkipProcessing::enabled), "let a header skip the router"),
  }};
  return section;
}

const Section<ModelSelection::Momentum>& momentum_section() {
  using M = ModelSelection::Momentum;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "stay with a conversation's difficulty"),
      optional("attack", number(&M::attack), "how fast it rises"),
      optional("release", number(&M::release), "how fast it falls"),
      optional("threshold", number(&M::threshold), "that counts"),
  }};
  return section;
}

const Section<ModelSelection::Ml>& ml_section() {
  using M = ModelSelection::Ml;
  static const Section<M> section{{
      optional("models_path", string(&M::models_path), "where pretrained selectors are"),
      optional("embedding_dim", count(&M::embedding_dim), "of the embeddings"),
      optional("knn", object(&M::knn, ml_selector_section), "nearest neighbours"),
      optional("kmeans", object(&M::kmeans, ml_selector_section), "nearest cluster"),
      optional("svm", object(&M::svm, ml_selector_section), "support vectors"),
      optional("mlp", object(&M::mlp, ml_selector_section), "a small network"),
  }};
  return section;
}

const Section<ModelSelection>& model_selection_section() {
  using M = ModelSelection;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "choose among a decision's models"),
      optional("method", algorithm_type(&M::method), "when a decision names no algorithm"),
      optional("router_dc", object(&M::router_dc, router_dc_section), "similarity to model cards"),
      optional("automix", object(&M::automix, automix_section), "value of quality against cost"),
      optional("hybrid", object(&M::hybrid, hybrid_section), "several of the others, weighted"),
      optional("momentum", object(&M::momentum, momentum_section), "of a conversation")
          .not_built("each request is looked at for itself"),
      optional("ml", object(&M::ml, ml_section), "pretrained selectors"),
  }};
  return section;
}

const Section<Learning::Adaptation>& learning_adaptation_section() {
  using A = Learning::Adaptation;
  static const Section<A> section{{
      optional("enabled", boolean(&A::enabled), "prefer what has worked"),
      optional("candidate_set", string(&A::candidate_set), "among which models"),
      optional("strategy", string(&A::strategy), "how"),
  }};
  return section;
}

const Section<Learning::Identity>& learning_identity_section() {
  static const Section<Learning::Identity> section{{
      optional("headers", text_map(&Learning::Identity::headers), "that name session and so on"),
  }};
  return section;
}

const Section<Learning::Tuning>& tuning_section() {
  using T = Learning::Tuning;
  static const Section<T> section{{
      optional("idle_timeout_seconds", count(&T::idle_timeout_seconds), "ends a session"),
      optional("min_turns_before_switch", count(&T::min_turns_before_switch), "of a session"),
      optional("switch_margin", number(&T::switch_margin), "advantage that a switch needs"),
      optional("stability_weight", number(&T::stability_weight), "of staying with a model"),
  }};
  return section;
}

const Section<Learning::Protection>& learning_protection_section() {
  using P = Learning::Protection;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "keep a session's model"),
      optional("scope", string(&P::scope), "session or conversation"),
      optional("identity", object(&P::identity, learning_identity_section), "what a session is"),
      optional("tuning", object(&P::tuning, tuning_section), "how firmly"),
  }};
  return section;
}

const Section<Learning::StateStore>& state_store_section() {
  using S = Learning::StateStore;
  static const Section<S> section{{
      optional("backend", string(&S::backend), "memory or redis"),
      optional("ttl_seconds", count(&S::ttl_seconds), "how long it is kept"),
      optional("timeout_ms", count(&S::timeout_ms), "for an answer"),
      optional("redis", object(&S::redis, redis_section), "of redis"),
  }};
  return section;
}

const Section<Learning>& learning_section() {
  using L = Learning;
  static const Section<L> section{{
      optional("enabled", boolean(&L::enabled), "learn from outcomes"),
      optional("adaptation", object(&L::adaptation, learning_adaptation_section),
               "of the choice of models"),
      optional("protection", object(&L::protection, learning_protection_section),
               "of a session's model"),
      optional("state_store", object(&L::state_store, state_store_section),
               "where what was learnt is kept"),
  }};
  return section;
}

}  // namespace

const Section<Config>& router_section() {
  using R = RouterSettings;
  static const Section<Config> section{{
      optional("auto_model_name", auto_name(), "one more model name that means: choose"),
      optional("auto_model_names", auto_names(), "more such names"),
      optional("config_source", setting(word(&R::config_source, {"file", "kubernetes"})),
               "where models and routes come from"),
      optional("clear_route_cache", setting(boolean(&R::clear_route_cache)),
               "of a proxy before us"),
      optional("strategy", inside(&Config::routing, strategy_value()),
               "when routing.strategy is not given"),
      optional("streamed_body", setting(object(&R::streamed_body, streamed_body_section)),
               "bodies as they come")
          .not_built("services.http limits bodies"),
      optional("include_config_models_in_list", setting(boolean(&R::include_config_models_in_list)),
               "name models in /v1/models beside auto")
          .not_built("/v1/models lists what it lists"),
      optional("skip_processing", setting(object(&R::skip_processing, skip_processing_section)),
               "by a header"),
      optional("entropy_reasoning", setting(boolean(&R::entropy_reasoning)),
               "where a domain decides, let the classifier's doubt decide about reasoning"),
      optional("model_selection", setting(object(&R::model_selection, model_selection_section)),
               "among a decision's models"),
      optional("learning", setting(object(&R::learning, learning_section)), "from outcomes")
          .not_built("nothing is learnt from outcomes"),
  }};
  return section;
}

}  // namespace signalbox::config
