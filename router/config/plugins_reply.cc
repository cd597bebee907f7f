// Plugins that watch, keep or change the reply.

#include "router/config/plugin_tables.h"

namespace signalbox::config {
namespace {

using Cache = ResponseCachePlugin;

const Section<Cache::Semantic>& cached_semantic_section() {
  using S = Cache::Semantic;
  static const Section<S> section{{
      optional("similarity_threshold", number(&S::similarity_threshold, -1, 1),
               "least similarity of two requests with one answer"),
  }};
  return section;
}

const Section<Cache::Personalized>& personalized_section() {
  static const Section<Cache::Personalized> section{{
      optional("mode", string(&Cache::Personalized::mode), "of replies that memory has changed"),
  }};
  return section;
}

const Section<Cache::Revision>& revision_section() {
  using R = Cache::Revision;
  static const Section<R> section{{
      optional("cache_epoch", string(&R::cache_epoch), "another value starts a new cache"),
      optional("model_revision", string(&R::model_revision), "of the model"),
      optional("prompt_revision", string(&R::prompt_revision), "of the prompts"),
      optional("policy_revision", string(&R::policy_revision), "of the policies"),
  }};
  return section;
}

// Keys of older files stand beside the block that replaced them.
}  // namespace

const Section<ResponseCachePlugin>& response_cache_section() {
  using P = Cache;
  using Mode = P::Mode;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false asks the model every time"),
      optional("mode",
               choice(&P::mode, {{"semantic", Mode::kSemantic},
                                 {"exact", Mode::kExact},
                                 {"exact_then_semantic", Mode::kExactThenSemantic}}),
               "which requests have one answer"),
      optional("scope", string(&P::scope), "who shares it: user, ..."),
      optional("semantic", object(&P::semantic, cached_semantic_section), "of mode semantic"),
      optional("ttl_seconds", count(&P::ttl_seconds), "how long an answer is kept"),
      optional("request_controls", object(&P::request_controls, request_controls_section),
               "what clients may say about it"),
      optional("personalized", object(&P::personalized, personalized_section),
               "replies that memory has changed"),
      optional("revision", object(&P::revision, revision_section), "starts a new cache"),
      optional("similarity_threshold",
               inside(&P::semantic, number(&P::Semantic::similarity_threshold, -1, 1)),
               "older name of semantic.similarity_threshold"),
      optional("allow_request_controls",
               inside(&P::request_controls, boolean(&RequestControls::enabled)),
               "older name of request_controls.enabled"),
      optional("control_header", inside(&P::request_controls, string(&RequestControls::header)),
               "older name of request_controls.header"),
  }};
  return section;
}

const Section<HallucinationPlugin>& hallucination_section() {
  using P = HallucinationPlugin;
  using Action = P::Action;
  static const std::vector<std::pair<std::string_view, Action>> warnings{
      {"header", Action::kHeader}, {"body", Action::kBody}, {"none", Action::kNone}};
  static const auto actions = [] {
    auto all = warnings;
    all.emplace_back("block", Action::kBlock);
    return all;
  }();
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves replies unchecked"),
      optional("use_nli", boolean(&P::use_nli), "explain each span by an NLI model"),
      optional("hallucination_action", choice(&P::hallucination_action, actions),
               "where a warning goes, or no reply"),
      optional("unverified_factual_action", choice(&P::unverified_factual_action, warnings),
               "the same when there was nothing to check against"),
      optional("include_hallucination_details", boolean(&P::include_hallucination_details),
               "name the spans"),
  }};
  return section;
}

const Section<ResponseJailbreakPlugin>& response_jailbreak_section() {
  using P = ResponseJailbreakPlugin;
  using Action = P::Action;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves replies unchecked"),
      optional("threshold", share(&P::threshold), "least score"),
      optional(
          "action",
          choice(&P::action,
                 {{"header", Action::kHeader}, {"block", Action::kBlock}, {"none", Action::kNone}}),
          "a warning, or no reply"),
  }};
  return section;
}

constexpr std::string_view kNoTraces = "calls of tools are recorded as a part of the bodies only";

const Section<RouterReplayPlugin>& router_replay_section() {
  using P = RouterReplayPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false records nothing"),
      optional("max_records", count(&P::max_records), "that are kept")
          .not_built("max_records of global.services.router_replay bounds those of all decisions"),
      optional("capture_request_body", boolean(&P::capture_request_body), "record what was asked"),
      optional("capture_response_body", boolean(&P::capture_response_body),
               "record what was answered"),
      optional("max_body_bytes", count(&P::max_body_bytes), "of each"),
      optional("max_tool_trace_bytes", count(&P::max_tool_trace_bytes), "of a tool's call")
          .not_built(kNoTraces),
      optional("max_tool_trace_steps", count(&P::max_tool_trace_steps), "calls of a request")
          .not_built(kNoTraces),
  }};
  return section;
}

const Section<MemoryReflection>& memory_reflection_section() {
  using R = MemoryReflection;
  static const Section<R> section{{
      optional("enabled", boolean(&R::enabled), "choose among memories"),
      optional("algorithm", string(&R::algorithm), "how"),
      optional("max_inject_tokens", count(&R::max_inject_tokens), "of what is added"),
      optional("recency_decay_days", count(&R::recency_decay_days), "older counts less"),
      optional("dedup_threshold", number(&R::dedup_threshold, -1, 1), "more alike is said once"),
      optional("block_patterns", texts(&R::block_patterns), "memories with these are left out"),
  }};
  return section;
}

const Section<MemoryPlugin>& memory_section() {
  using P = MemoryPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false remembers nothing here"),
      optional("retrieval_limit", count(&P::retrieval_limit), "memories that are added"),
      optional("similarity_threshold", number(&P::similarity_threshold, -1, 1),
               "least similarity to the request"),
      optional("auto_store", boolean(&P::auto_store), "keep what is new"),
      optional("hybrid_search", boolean(&P::hybrid_search), "by words as well"),
      optional("hybrid_mode", string(&P::hybrid_mode), "how the two are joined"),
      optional("reflection", object(&P::reflection, memory_reflection_section),
               "what of a memory comes back"),
  }};
  return section;
}

}  // namespace signalbox::config
