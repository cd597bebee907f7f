// Plugins that choose among the tools of a request, or add some.

#include "router/config/plugin_tables.h"

namespace signalbox::config {
namespace {

const Section<ToolFiltering::Weights>& tool_weights_section() {
  using W = ToolFiltering::Weights;
  static const Section<W> section{{
      optional("embed", positive(&W::embed), "of similar meaning"),
      optional("lexical", positive(&W::lexical), "of words in common"),
      optional("tag", positive(&W::tag), "of the tool's tags"),
      optional("name", positive(&W::name), "of its name"),
      optional("category", positive(&W::category), "of its category"),
  }};
  return section;
}

const Section<ToolFiltering::History>& tool_history_section() {
  using H = ToolFiltering::History;
  static const Section<H> section{{
      optional("history_horizon", count(&H::history_horizon), "steps that are looked at"),
      optional("min_history_steps", count(&H::min_history_steps), "fewer do not count"),
      optional("history_confidence_threshold", number(&H::history_confidence_threshold),
               "least confidence of a transition"),
      optional("weight_semantic", number(&H::weight_semantic), "of similar meaning"),
      optional("weight_history_transition", number(&H::weight_history_transition),
               "of following the tool before"),
      optional("weight_decision_prior", number(&H::weight_decision_prior), "of the decision"),
      optional("repetition_penalty_strength", number(&H::repetition_penalty_strength),
               "against the same tool again"),
  }};
  return section;
}

}  // namespace

const Section<ToolFiltering>& tool_filtering_section() {
  using F = ToolFiltering;
  static const Section<F> section{{
      optional("enabled", boolean(&F::enabled), "rank by more than similarity"),
      optional("retrieval_strategy", string(&F::retrieval_strategy), "weighted, hybrid_history"),
      optional("candidate_pool_size", count(&F::candidate_pool_size), "tools that are ranked"),
      optional("min_lexical_overlap", count(&F::min_lexical_overlap), "words in common"),
      optional("min_combined_score", number(&F::min_combined_score), "least score"),
      optional("weights", object(&F::weights, tool_weights_section), "of the score"),
      optional("use_category_filter", boolean(&F::use_category_filter),
               "only tools of the request's category"),
      optional("category_confidence_threshold", share(&F::category_confidence_threshold),
               "least confidence in it"),
      optional("allow_tools", texts(&F::allow_tools), "the only ones"),
      optional("block_tools", texts(&F::block_tools), "never these"),
      optional("hybrid_history", object(&F::hybrid_history, tool_history_section),
               "what was called before")
          .not_built("tools are ranked by the request alone"),
  }};
  return section;
}

const Section<ToolsPlugin>& tools_section() {
  using P = ToolsPlugin;
  using Mode = P::Mode;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves the request alone"),
      optional("mode",
               choice(&P::mode, {{"passthrough", Mode::kPassthrough},
                                 {"none", Mode::kNone},
                                 {"filtered", Mode::kFiltered}}),
               "which of the request's tools go on"),
      optional("semantic_selection", boolean(&P::semantic_selection), "those that fit the request"),
      optional("allow_tools", texts(&P::allow_tools), "the only ones"),
      optional("block_tools", texts(&P::block_tools), "never these"),
      optional("strip_tool_history", boolean(&P::strip_tool_history),
               "take earlier calls and results out as well"),
  }};
  return section;
}

const Section<ToolSelectionPlugin>& tool_selection_section() {
  using P = ToolSelectionPlugin;
  static const Section<P> section{{
      optional("enabled", boolean(&P::enabled), "false leaves the request alone"),
      optional("mode", choice(&P::mode, {{"add", P::Mode::kAdd}, {"filter", P::Mode::kFilter}}),
               "add tools of the database, or filter the request's"),
      optional("tools_db_path", string(&P::tools_db_path), "of add: the database"),
      optional("top_k", count(&P::top_k), "of add: how many"),
      optional("similarity_threshold", number(&P::similarity_threshold, -1, 1),
               "of add: least similarity"),
      optional("relevance_threshold", number(&P::relevance_threshold, -1, 1),
               "of filter: least similarity; 0: 0.25"),
      optional("preserve_count", count(&P::preserve_count), "of filter: these stay in any case"),
      optional("strategy", string(&P::strategy), "of ranking"),
      optional("fallback_to_empty", boolean(&P::fallback_to_empty),
               "without tools when ranking fails"),
      optional("advanced_filtering", object(&P::advanced_filtering, tool_filtering_section),
               "ranking by more than similarity"),
  }};
  return section;
}

}  // namespace signalbox::config
