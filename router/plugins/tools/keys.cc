// The keys of the plugins tools and tool_selection, and those of a ranking of tools.

#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

using ToolWeights = ToolFiltering::Weights;

constexpr Key kToolWeightsKeys[] = {
    positive(FIELD(ToolWeights, embed), "Weight of similar meaning."),
    positive(FIELD(ToolWeights, lexical), "Weight of common words."),
    positive(FIELD(ToolWeights, tag), "Weight of the tool's tags."),
    positive(FIELD(ToolWeights, name), "Weight of the tool's name."),
    positive(FIELD(ToolWeights, category), "Weight of the tool's category."),
};
constexpr Section kToolWeights{kToolWeightsKeys};

using ToolHistory = ToolFiltering::History;

constexpr Key kToolHistoryKeys[] = {
    count(FIELD(ToolHistory, history_horizon), "Earlier steps to consider."),
    count(FIELD(ToolHistory, min_history_steps), "Least number of earlier steps."),
    number(FIELD(ToolHistory, history_confidence_threshold), "Least confidence of a transition."),
    number(FIELD(ToolHistory, weight_semantic), "Weight of similar meaning."),
    number(FIELD(ToolHistory, weight_history_transition),
           "Weight of the transition from the tool before."),
    number(FIELD(ToolHistory, weight_decision_prior), "Weight of the decision."),
    number(FIELD(ToolHistory, repetition_penalty_strength), "Penalty of a repeated tool."),
};
constexpr Section kToolHistory{kToolHistoryKeys};

constexpr Key kToolFilteringKeys[] = {
    enabled<ToolFiltering>("Rank tools by more than similarity."),
    string(FIELD(ToolFiltering, retrieval_strategy), "`weighted` or `hybrid_history`.")
        .not_built("tools are ranked by the weighted sum")
        .unless("weighted"),
    count(FIELD(ToolFiltering, candidate_pool_size), "Tools to rank. 0: all."),
    count(FIELD(ToolFiltering, min_lexical_overlap), "Least number of common words."),
    number(FIELD(ToolFiltering, min_combined_score), "Least weighted sum."),
    object(FIELD(ToolFiltering, weights), kToolWeights, "Weights of the sum."),
    boolean(FIELD(ToolFiltering, use_category_filter), "Use only tools of the request's category."),
    share(FIELD(ToolFiltering, category_confidence_threshold), "Least confidence in the category."),
    texts(FIELD(ToolFiltering, allow_tools), "The only tools to use."),
    texts(FIELD(ToolFiltering, block_tools), "Tools never to use."),
    object(FIELD(ToolFiltering, hybrid_history), kToolHistory, "Tools that were called before.")
        .not_built("tools are ranked by the request alone"),
};

constexpr Choice kToolsModes[] = {{"passthrough", ToolsPlugin::Mode::kPassthrough},
                                  {"none", ToolsPlugin::Mode::kNone},
                                  {"filtered", ToolsPlugin::Mode::kFiltered}};

constexpr Key kToolsKeys[] = {
    enabled<ToolsPlugin>(kLeavesRequest),
    choice(FIELD(ToolsPlugin, mode), kToolsModes,
           "Tools of the request to keep: all (default), none, or those that pass the filters."),
    boolean(FIELD(ToolsPlugin, semantic_selection), "Keep the tools that fit the request."),
    texts(FIELD(ToolsPlugin, allow_tools), "The only tools to keep."),
    texts(FIELD(ToolsPlugin, block_tools), "Tools never to keep."),
    boolean(FIELD(ToolsPlugin, strip_tool_history),
            "For `none`: remove earlier calls and their results, too."),
};

constexpr Choice kToolSelectionModes[] = {{"add", ToolSelectionPlugin::Mode::kAdd},
                                          {"filter", ToolSelectionPlugin::Mode::kFilter}};

constexpr Key kToolSelectionKeys[] = {
    enabled<ToolSelectionPlugin>(kLeavesRequest),
    unread("sticky", "Tools of a conversation.", "tools are selected for each request anew"),
    choice(FIELD(ToolSelectionPlugin, mode), kToolSelectionModes,
           "Add tools of the database (default), or filter the request's tools."),
    string(FIELD(ToolSelectionPlugin, tools_db_path), "File of the database, for `add`."),
    count(FIELD(ToolSelectionPlugin, top_k), "Tools to add, for `add`. Default: 3."),
    number(FIELD(ToolSelectionPlugin, similarity_threshold), -1, 1,
           "Least similarity to the request, for `add`."),
    number(FIELD(ToolSelectionPlugin, relevance_threshold), -1, 1,
           "Least similarity to the request, for `filter`. 0: 0.25."),
    count(FIELD(ToolSelectionPlugin, preserve_count), "Tools to keep in any case, for `filter`."),
    string(FIELD(ToolSelectionPlugin, strategy), "How to rank tools.")
        .no_effect("advanced_filtering selects the ranking"),
    boolean(FIELD(ToolSelectionPlugin, fallback_to_empty),
            "If ranking fails, send no tools instead of all."),
    object(FIELD(ToolSelectionPlugin, advanced_filtering), kToolFiltering,
           "Ranking by more than similarity."),
};

}  // namespace

constinit const Section kTools{kToolsKeys};
constinit const Section kToolSelection{kToolSelectionKeys};

constinit const Section kToolFiltering{kToolFilteringKeys};

}  // namespace signalbox::config
