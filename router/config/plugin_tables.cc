// The settings of each plugin of a decision.

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {

extern const Section kRagBackend;  // a hybrid backend contains others

namespace {

template <class S>
constexpr Key enabled(std::string_view why) {
  return boolean(FIELD(S, enabled), why);
}
constexpr std::string_view kLeavesRequest = "false leaves the request unchanged. Default: true.";
constexpr std::string_view kLeavesReply = "false leaves replies unchecked. Default: true.";

// --- changes to the request ---

constexpr Choice kPromptModes[] = {{"replace", SystemPromptPlugin::Mode::kReplace},
                                   {"insert", SystemPromptPlugin::Mode::kInsert}};

constexpr Key kSystemPromptKeys[] = {
    enabled<SystemPromptPlugin>(kLeavesRequest),
    choice(FIELD(SystemPromptPlugin, mode), kPromptModes,
           "Replace the client's system prompt (default), or insert the text in front of it."),
    text(FIELD(SystemPromptPlugin, system_prompt), "The text.").required(),
};
constexpr Section kSystemPrompt{kSystemPromptKeys};

constexpr Key kFastResponseKeys[] = {
    string(FIELD(FastResponsePlugin, message), "Text of the reply. No model is called.").required(),
};
constexpr Section kFastResponse{kFastResponseKeys};

using Header = HeaderMutationPlugin::Pair;

void check_header(Reader& reader, const yaml::Node& node, Header& header) {
  if (header.name.empty()) return;
  const uint32_t line = node.find("name")->line;
  reader.at_key("name", [&] {
    if (!is_header_name(header.name))
      return reader.error(line,
                          fmt::format("expected the name of a header, found \"{}\"", header.name));
    if (is_own_header(header.name))
      reader.error(line, fmt::format("the router sets \"{}\" itself", header.name));
  });
  if (is_header_value(header.value)) return;
  reader.at_key("value", [&] {
    reader.error(node.find("value")->line, "expected one line without control characters");
  });
}

constexpr Key kHeaderKeys[] = {
    text(FIELD(Header, name), "Name of the header.").required(),
    string(FIELD(Header, value), "Value of the header."),
};
constexpr Section kHeader{kHeaderKeys, checked<check_header>};

void check_removed_headers(Reader& reader, const yaml::Node& node, HeaderMutationPlugin& plugin) {
  for (const std::string& name : plugin.remove) {
    if (!is_own_header(name)) continue;
    reader.at_key("delete", [&] {
      reader.notice(node.find("delete")->line,
                    fmt::format("has no effect on \"{}\"; the router sets it itself", name));
    });
  }
}

constexpr Key kHeaderMutationKeys[] = {
    list(FIELD(HeaderMutationPlugin, add), kHeader,
         "Headers to add, even if the request has them already."),
    list(FIELD(HeaderMutationPlugin, update), kHeader, "Headers to set or replace."),
    texts(FIELD_AS("delete", HeaderMutationPlugin, remove), "Names of headers to remove."),
};
constexpr Section kHeaderMutation{kHeaderMutationKeys, checked<check_removed_headers>};

// There is no request without these two.
void check_blocked_params(Reader& reader, const yaml::Node& node, RequestParamsPlugin& plugin) {
  for (const std::string& name : plugin.blocked_params) {
    if (name != "model" && name != "messages") continue;
    reader.at_key("blocked_params", [&] {
      reader.error(node.find("blocked_params")->line,
                   fmt::format("\"{}\" cannot be removed from a request", name));
    });
  }
}

constexpr Key kRequestParamsKeys[] = {
    texts(FIELD(RequestParamsPlugin, blocked_params), "Parameters to remove."),
    count(FIELD(RequestParamsPlugin, max_tokens_limit), "Greatest value of `max_tokens`."),
    count(FIELD(RequestParamsPlugin, max_n), "Greatest value of `n`."),
    boolean(FIELD(RequestParamsPlugin, strip_unknown),
            "Remove parameters that OpenAI's API does not have."),
};
constexpr Section kRequestParams{kRequestParamsKeys, checked<check_blocked_params>};

constexpr Choice kMaskOnError[] = {{"refuse", PiiMaskPlugin::OnError::kRefuse},
                                   {"rules", PiiMaskPlugin::OnError::kRules}};

constexpr Key kPiiMaskKeys[] = {
    enabled<PiiMaskPlugin>(kLeavesRequest),
    texts(FIELD(PiiMaskPlugin, types), "Types of personal data to mask. Default: all.")
        .then<note_unknown_pii_types>(),
    share(FIELD(PiiMaskPlugin, threshold),
          "Least confidence. Default: the threshold of the classifier."),
    choice(FIELD(PiiMaskPlugin, on_error), kMaskOnError,
           "If the model fails: refuse the request (default), or mask what rules find."),
};
constexpr Section kPiiMask{kPiiMaskKeys};

constexpr Key kRequestControlsKeys[] = {
    enabled<RequestControls>("Clients may control the plugin by a header."),
    string(FIELD(RequestControls, header), "Name of the header."),
    texts(FIELD(RequestControls, allowed), "Values that clients may send."),
    count(FIELD(RequestControls, max_ttl_seconds), "Greatest `ttl` of a client, in seconds."),
    count(FIELD(RequestControls, max_target_tokens), "Greatest `target` of a client, in tokens."),
};
constexpr Section kRequestControls{kRequestControlsKeys};

using Compression = ContextCompressionPlugin;

void read_budget(Reader& reader, const yaml::Node& node, std::optional<uint32_t>& out) {
  if (node.kind == yaml::Kind::kScalar && ascii::iequals(node.scalar, "auto")) return;
  int64_t tokens = 0;
  if (read_integer(reader, node, "`auto` or a number of tokens", 1, 1'000'000'000, tokens))
    out = static_cast<uint32_t>(tokens);
}

constexpr Key budget(At<std::optional<uint32_t>> at, std::string_view why) {
  return key_of(at, Kind::kAnything, why).read_by<read_budget>();
}

constexpr Key kBudgetKeys[] = {
    budget(FIELD(Compression::Budget, trigger_tokens),
           "Shorter requests are kept, in tokens. `auto`: none."),
    budget(FIELD(Compression::Budget, target_tokens),
           "Length of a request to reach, in tokens. `auto`: each long result is shortened."),
    budget(FIELD(Compression::Budget, reserve_output_tokens),
           "Tokens of the model's context window to leave for the reply. `auto`: the client's "
           "`max_tokens`."),
};
constexpr Section kBudget{kBudgetKeys};

constexpr std::string_view kTargetModes = "extractive preserve recoverable";

void check_target(Reader& reader, const yaml::Node& node, Compression::Target& target) {
  if (target.min_tokens == 0 || target.target_tokens < target.min_tokens) return;
  reader.at_key("target_tokens", [&] {
    reader.error(node.line, fmt::format("expected less than min_tokens ({}), found {}",
                                        target.min_tokens, target.target_tokens));
  });
}

constexpr Key kMinTokensKey =
    count(FIELD(Compression::Target, min_tokens), "Shorter texts are kept, in tokens.");
constexpr Key kTargetTokensKey =
    count(FIELD(Compression::Target, target_tokens), "Length of a shortened text, in tokens.");

constexpr Key kToolOutputsKeys[] = {
    word(FIELD(Compression::Target, mode), kTargetModes,
         "Shorten results of earlier turns (default), or keep them.")
        .not_built("the results are kept whole")
        .unless("extractive preserve"),
    kMinTokensKey,
    kTargetTokensKey,
};
constexpr Section kToolOutputs{kToolOutputsKeys, checked<check_target>};

constexpr Key kOtherTargetKeys[] = {
    word(FIELD(Compression::Target, mode), kTargetModes, "Shorten the text, or keep it.")
        .not_built("the text is kept whole")
        .unless("preserve"),
    kMinTokensKey,
    kTargetTokensKey,
};
constexpr Section kOtherTarget{kOtherTargetKeys};

constexpr Key kTargetsKeys[] = {
    object(FIELD(Compression::Targets, tool_outputs), kToolOutputs, "Results of tools."),
    object(FIELD(Compression::Targets, history), kOtherTarget, "Other messages of earlier turns."),
    object(FIELD(Compression::Targets, rag), kOtherTarget, "Documents that were added."),
    object(FIELD(Compression::Targets, memory), kOtherTarget, "Memories that were added."),
};
constexpr Section kTargets{kTargetsKeys};

constexpr Key kScoringKeys[] = {
    word(FIELD(Compression::Scoring, method), "bm25 embedding hybrid", "How to rank passages.")
        .not_built("BM25 ranks the passages")
        .unless("bm25"),
    string(FIELD(Compression::Scoring, embedding_model_ref), "Model, for `embedding`."),
};
constexpr Section kScoring{kScoringKeys};

constexpr Key kRecoveryKeys[] = {
    enabled<Compression::Recovery>("The model may request the omitted text."),
    string(FIELD(Compression::Recovery, store), "Store of the omitted text."),
    count(FIELD(Compression::Recovery, ttl_seconds), "Lifetime of the omitted text, in seconds."),
    count(FIELD(Compression::Recovery, max_bytes_per_request), "Greatest size per request."),
    integer(FIELD(Compression::Recovery, max_total_bytes), 0, int64_t{1} << 48,
            "Greatest size of all omitted text, in bytes."),
    count(FIELD(Compression::Recovery, max_retrievals), "Retrievals per request."),
};
constexpr Section kRecovery{kRecoveryKeys};

constexpr Key kContextCompressionKeys[] = {
    enabled<Compression>(kLeavesRequest),
    word(FIELD(Compression, mode), "auto always",
         "`always`: shorten results of any length above their target, in requests of any length."),
    object(FIELD(Compression, budget), kBudget, "Lengths of a request."),
    object(FIELD(Compression, targets), kTargets, "Parts of the request to shorten."),
    object(FIELD(Compression, scoring), kScoring, "How to choose the passages to keep."),
    object(FIELD(Compression, recovery), kRecovery, "Access to the omitted text.")
        .not_built("the model cannot request the omitted text"),
    object(FIELD(Compression, request_controls), kRequestControls, "Control by clients."),
    word(FIELD(Compression, failure_mode), "fail_open fail_closed",
         "If the request stays longer than its target: send it, or refuse it."),
};
constexpr Section kContextCompression{kContextCompressionKeys};

// --- tools ---

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
constexpr Section kTools{kToolsKeys};

constexpr Choice kToolSelectionModes[] = {{"add", ToolSelectionPlugin::Mode::kAdd},
                                          {"filter", ToolSelectionPlugin::Mode::kFilter}};

constexpr Key kToolSelectionKeys[] = {
    enabled<ToolSelectionPlugin>(kLeavesRequest),
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
constexpr Section kToolSelection{kToolSelectionKeys};

// --- the reply ---

using Cache = ResponseCachePlugin;

constexpr Key kCacheSemanticKeys[] = {
    number(FIELD(Cache::Semantic, similarity_threshold), -1, 1,
           "Least similarity of two requests that share an answer."),
};
constexpr Section kCacheSemantic{kCacheSemanticKeys};

constexpr Key kCachePersonalizedKeys[] = {
    string(FIELD(Cache::Personalized, mode), "How to keep replies that memories have changed."),
};
constexpr Section kCachePersonalized{kCachePersonalizedKeys};

constexpr Key kCacheRevisionKeys[] = {
    string(FIELD(Cache::Revision, cache_epoch), "Any text."),
    string(FIELD(Cache::Revision, model_revision), "Revision of the model."),
    string(FIELD(Cache::Revision, prompt_revision), "Revision of the prompts."),
    string(FIELD(Cache::Revision, policy_revision), "Revision of the policies."),
};
constexpr Section kCacheRevision{kCacheRevisionKeys};

constexpr Choice kCacheModes[] = {{"semantic", Cache::Mode::kSemantic},
                                  {"exact", Cache::Mode::kExact},
                                  {"exact_then_semantic", Cache::Mode::kExactThenSemantic}};

// The last three keys are older names.
constexpr Key kResponseCacheKeys[] = {
    enabled<Cache>("false calls the model every time. Default: true."),
    choice(FIELD(Cache, mode), kCacheModes,
           "Requests that share an answer: similar ones (default), equal ones, or both."),
    string(FIELD(Cache, scope),
           "Clients that share answers: `user` and others; see docs/cache.md."),
    object(FIELD(Cache, semantic), kCacheSemantic, "Settings of similar requests."),
    count(FIELD(Cache, ttl_seconds), "Lifetime of an answer, in seconds. Default: the store's."),
    object(FIELD(Cache, request_controls), kRequestControls, "Control by clients."),
    object(FIELD(Cache, personalized), kCachePersonalized, "Replies that memories have changed.")
        .no_effect("answers are shared only between requests with the same memories"),
    object(FIELD(Cache, revision), kCacheRevision, "Each new value starts an empty cache."),
    number(FIELD_AS("similarity_threshold", Cache, semantic.similarity_threshold), -1, 1,
           "Older name of `semantic.similarity_threshold`."),
    boolean(FIELD_AS("allow_request_controls", Cache, request_controls.enabled),
            "Older name of `request_controls.enabled`."),
    string(FIELD_AS("control_header", Cache, request_controls.header),
           "Older name of `request_controls.header`."),
};
constexpr Section kResponseCache{kResponseCacheKeys};

// A warning has no kBlock, the last one.
constexpr Choice kHallucinationActions[] = {{"header", HallucinationPlugin::Action::kHeader},
                                            {"body", HallucinationPlugin::Action::kBody},
                                            {"none", HallucinationPlugin::Action::kNone},
                                            {"block", HallucinationPlugin::Action::kBlock}};

constexpr Key kHallucinationKeys[] = {
    enabled<HallucinationPlugin>(kLeavesReply),
    boolean(FIELD(HallucinationPlugin, use_nli),
            "Check by an NLI model whether each span contradicts the context."),
    choice(FIELD(HallucinationPlugin, hallucination_action), kHallucinationActions,
           "Warn in a header (default) or in the body, ignore it, or block the reply (Signalbox "
           "only)."),
    choice(FIELD(HallucinationPlugin, unverified_factual_action),
           std::span(kHallucinationActions).first(3),
           "The same for a reply to a question of fact without context to check against."),
    boolean(FIELD(HallucinationPlugin, include_hallucination_details),
            "Name the spans in the warning."),
};
constexpr Section kHallucination{kHallucinationKeys};

constexpr Choice kReplyActions[] = {{"header", ResponseJailbreakPlugin::Action::kHeader},
                                    {"block", ResponseJailbreakPlugin::Action::kBlock},
                                    {"none", ResponseJailbreakPlugin::Action::kNone}};

constexpr Key kResponseJailbreakKeys[] = {
    enabled<ResponseJailbreakPlugin>(kLeavesReply),
    share(FIELD(ResponseJailbreakPlugin, threshold),
          "Least score. Default: the threshold of prompt_guard."),
    choice(FIELD(ResponseJailbreakPlugin, action), kReplyActions,
           "Warn in a header (default), block the reply, or do nothing."),
};
constexpr Section kResponseJailbreak{kResponseJailbreakKeys};

constexpr std::string_view kNoTraces = "records contain tool calls only as part of the bodies";

constexpr Key kRouterReplayKeys[] = {
    enabled<RouterReplayPlugin>("false records nothing. Default: true."),
    count(FIELD(RouterReplayPlugin, max_records), "Records to keep.")
        .not_built("max_records of global.services.router_replay limits all records together"),
    boolean(FIELD(RouterReplayPlugin, capture_request_body), "Record requests in full."),
    boolean(FIELD(RouterReplayPlugin, capture_response_body), "Record replies in full."),
    count(
        FIELD(RouterReplayPlugin, body_ttl_seconds),
        "Time for which records keep them, in seconds. 0: as long as the record. Default: that of "
        "global.services.router_replay."),
    count(FIELD(RouterReplayPlugin, max_body_bytes),
          "Greatest size of a recorded body, in bytes. 0: no limit."),
    count(FIELD(RouterReplayPlugin, max_tool_trace_bytes), "Greatest size of a tool call.")
        .not_built(kNoTraces),
    count(FIELD(RouterReplayPlugin, max_tool_trace_steps), "Tool calls of a request to record.")
        .not_built(kNoTraces),
};
constexpr Section kRouterReplayPlugin{kRouterReplayKeys};

// --- memories, documents; images, which are not built ---

constexpr std::string_view kRefused = "requests that reach this decision are refused";

constexpr Key kMemoryPluginKeys[] = {
    enabled<MemoryPlugin>("false uses no memories. Default: true."),
    integer(FIELD(MemoryPlugin, retrieval_limit), 0, 100,
            "Memories to add to a request. Default: the store's `default_retrieval_limit`."),
    number(FIELD(MemoryPlugin, similarity_threshold), -1, 1,
           "Least similarity to the request. Default: the store's "
           "`default_similarity_threshold`."),
    boolean(FIELD(MemoryPlugin, auto_store),
            "Store a turn of a conversation once it has its answer. Default: the store's "
            "`auto_store`."),
    boolean(FIELD(MemoryPlugin, hybrid_search), "Search by words, too. Default: the store's."),
    word(FIELD(MemoryPlugin, hybrid_mode), "weighted rrf rerank",
         "How both searches are joined. Default: the store's."),
    object(FIELD(MemoryPlugin, reflection), kMemoryReflection,
           "Selection of memories. Each key that is absent is the store's."),
};
constexpr Section kMemoryPlugin{kMemoryPluginKeys};

constexpr std::string_view kRagBackends = "milvus qdrant external_api mcp openai vectorstore";

// `${user_content}` in it is no environment variable.
void read_template(Reader& reader, const yaml::Node& node, std::string& out) {
  if (node.kind != yaml::Kind::kScalar) return reader.expected(node, "a text");
  out = node.scalar;
}

constexpr Key kRagBackendKeys[] = {
    string(FIELD(RagBackend, collection), "milvus, qdrant: collection of the documents."),
    boolean(FIELD(RagBackend, reuse_cache_connection),
            "milvus, qdrant: use the response cache's server.")
        .no_effect("the response cache's server is used if there is one")
        .unless("true yes on"),
    string(FIELD(RagBackend, content_field),
           "milvus, qdrant: field of the text. Default: content."),
    string(FIELD(RagBackend, metadata_field), "milvus: field of the metadata.")
        .no_effect("the model gets the text alone"),
    string(FIELD(RagBackend, filter_expression), "milvus: filter of the documents."),
    string(FIELD(RagBackend, endpoint),
           "external_api, mcp: URL. Everyone who may read the configuration sees its query. "
           "Signalbox only for mcp, as are api_key, auth_header and headers."),
    string(FIELD(RagBackend, api_key), "external_api, openai, mcp: API key."),
    string(FIELD(RagBackend, auth_header),
           "external_api, mcp: header of the key, which then has no prefix. Default: "
           "Authorization, with Bearer."),
    word(FIELD(RagBackend, request_format), "custom elasticsearch pinecone weaviate",
         "external_api: form of requests and replies."),
    string(FIELD(RagBackend, request_template),
           "external_api: body of a `custom` request; `${user_content}`, `${top_k}` and "
           "`${threshold}` are replaced.")
        .read_by<read_template>(),
    text_map(FIELD(RagBackend, headers), "external_api, mcp: headers to send."),
    string(FIELD(RagBackend, server_name), "mcp: name of the server, for messages."),
    string(FIELD(RagBackend, tool_name), "mcp: name of the tool."),
    anything(FIELD(RagBackend, tool_arguments),
             "mcp: arguments; `${user_content}`, `${decision_name}`, `${top_k}` and `${threshold}` "
             "are replaced. A text that is only one of the latter two becomes a number."),
    string(FIELD(RagBackend, base_url), "openai: URL of the server."),
    string(
        FIELD(RagBackend, vector_store_id),
        "openai, vectorstore: the store. vectorstore: its id, or the name of an operators' store."),
    texts(FIELD(RagBackend, file_ids), "openai, vectorstore: the only files to search."),
    anything(FIELD(RagBackend, filter), "openai, qdrant: filter of the documents."),
    count(FIELD(RagBackend, max_num_results),
          "openai: documents to add. Default: `top_k`, or else 20."),
    word(FIELD(RagBackend, workflow_mode), "direct_search tool_based",
         "openai: the router searches (default), or the model does."),
    boolean(FIELD(RagBackend, hybrid_search), "vectorstore: search by words, too. Signalbox only."),
    word(FIELD(RagBackend, hybrid_mode), "weighted rrf",
         "vectorstore: how both searches are joined. Default: rrf. Signalbox only."),
    word(FIELD(RagBackend, primary), kRagBackends, "hybrid: the first backend."),
    word(FIELD(RagBackend, fallback), kRagBackends, "hybrid: the second backend."),
    word(FIELD(RagBackend, strategy), "sequential parallel",
         "hybrid: search the second backend if the first finds nothing (default), or at once.")
        .no_effect("the second backend is searched if the first one finds nothing")
        .unless("sequential"),
    object(FIELD(RagBackend, primary_config), kRagBackend, "hybrid: keys of the first backend."),
    object(FIELD(RagBackend, fallback_config), kRagBackend, "hybrid: keys of the second backend."),
    count(FIELD(RagBackend, timeout_seconds),
          "Time limit of the search, in seconds. Default: 5; 10 for mcp."),
};

constexpr Key kRagKeys[] = {
    enabled<RagPlugin>("false adds no documents. Default: true."),
    word(FIELD(RagPlugin, backend), "milvus qdrant external_api mcp openai vectorstore hybrid",
         "Where the documents are."),
    number(
        FIELD(RagPlugin, similarity_threshold), -1, 1,
        "Least similarity to the request, where the backend reports one. Default: 0.7 for milvus "
        "and qdrant."),
    count(FIELD(RagPlugin, top_k), "Documents to add. Default: 5."),
    count(FIELD(RagPlugin, max_context_length),
          "Greatest length of all documents, in characters. Default: 10000."),
    word(FIELD(RagPlugin, injection_mode), "tool_role system_prompt",
         "Add them as the result of a tool (default), or to the system prompt."),
    word(FIELD(RagPlugin, on_failure), "skip warn block",
         "If nothing is found or the search fails: go on without documents (`skip`, the default, "
         "and `warn`), or refuse the request (`block`)."),
    boolean(FIELD(RagPlugin, cache_results),
            "Keep the results of the last 1,024 searches, in 16 MiB at most."),
    count(FIELD(RagPlugin, cache_ttl_seconds),
          "Lifetime of kept results, in seconds. Default: 3600."),
    number(FIELD(RagPlugin, min_confidence_threshold), -1, 1,
           "Least confidence; below it nothing is added.")
        .not_built("documents are looked up whatever the confidence"),
    object(FIELD(RagPlugin, backend_config), kRagBackend, "Keys of the backend."),
};
constexpr Section kRag{kRagKeys, checked<check_rag>};

using ImageBackend = ImageGenPlugin::Backend;

constexpr Key kImageBackendKeys[] = {
    string(FIELD(ImageBackend, base_url), "URL of the server. Default for openai: OpenAI's."),
    string(FIELD(ImageBackend, model), "Name of the model. Default for openai: `gpt-image-1`."),
    string(FIELD(ImageBackend, api_key),
           "API key. Without one, the client's own goes to the server, as for other backends."),
    string(FIELD(ImageBackend, quality), "openai: `hd` and others."),
    string(FIELD(ImageBackend, style), "openai: `vivid` and others."),
    count(FIELD(ImageBackend, num_inference_steps), "vllm_omni: inference steps. Default: 50."),
    positive(FIELD(ImageBackend, cfg_scale), "vllm_omni: scale of the guidance. Default: 4."),
    integer(FIELD(ImageBackend, seed), INT64_MIN, INT64_MAX, "vllm_omni: seed."),
};
constexpr Section kImageBackend{kImageBackendKeys};

using ModalityClassifier = ModalityDetection::Classifier;

constexpr Key kModalityClassifierKeys[] = {
    string(FIELD(ModalityClassifier, model_path), "Model directory."),
    boolean(FIELD(ModalityClassifier, use_cpu), "Run the model on the processor.")
        .no_effect("the router runs its models on the processor")
        .unless("true yes on"),
};
constexpr Section kModalityClassifier{kModalityClassifierKeys};

constexpr Key kModalityDetectionKeys[] = {
    enabled<ModalityDetection>("false takes every request for text. Default: true."),
    word(FIELD(ModalityDetection, method), "classifier keyword hybrid", "How to detect it."),
    object(FIELD(ModalityDetection, classifier), kModalityClassifier, "The model."),
    texts(FIELD(ModalityDetection, keywords), "Words that request an image."),
    texts(FIELD(ModalityDetection, both_keywords), "Words that request a text beside the image."),
    texts(FIELD(ModalityDetection, prompt_prefixes), "Beginnings of requests for an image."),
    share(FIELD(ModalityDetection, confidence_threshold), "Least confidence of the classifier."),
    share(FIELD(ModalityDetection, lower_threshold_ratio),
          "Share of the threshold that suffices if a keyword matches.")
        .not_built("the classifier and the keywords are evaluated independently"),
};

constexpr Key kImageGenKeys[] = {
    enabled<ImageGenPlugin>("false generates no images. Default: true."),
    word(FIELD(ImageGenPlugin, backend), "openai vllm_omni", "API of the server."),
    object(FIELD(ImageGenPlugin, backend_config), kImageBackend, "Keys of the backend."),
    object(FIELD(ImageGenPlugin, modality_detection), kModalityDetection,
           "Only `prompt_prefixes` counts here: the decision's conditions select the requests."),
    count(FIELD(ImageGenPlugin, default_width), "Width, in pixels. Default: 1024."),
    count(FIELD(ImageGenPlugin, default_height), "Height, in pixels. Default: 1024."),
    count(FIELD(ImageGenPlugin, max_inference_steps), "Greatest number of inference steps."),
    count(FIELD(ImageGenPlugin, timeout_seconds),
          "Time limit of an image, in seconds. Default: 60 for openai, 120 for vllm_omni."),
};
constexpr Section kImageGen{kImageGenKeys, checked<check_image_gen>};

}  // namespace

constinit const Section kRagBackend{kRagBackendKeys};
constinit const Section kToolFiltering{kToolFilteringKeys};
constinit const Section kModalityDetection{kModalityDetectionKeys};

constinit const Variant kPluginForms[16] = {
    {"system_prompt", object(FIELD(Plugins, system_prompt), kSystemPrompt, "")},
    {"fast_response", object(FIELD(Plugins, fast_response), kFastResponse, "")},
    {"response_cache response-cache semantic_cache semantic-cache",
     object(FIELD(Plugins, response_cache), kResponseCache, "")},
    {"context_compression", object(FIELD(Plugins, context_compression), kContextCompression, "")},
    {"tools", object(FIELD(Plugins, tools), kTools, "")},
    {"tool_selection", object(FIELD(Plugins, tool_selection), kToolSelection, "")},
    {"hallucination", object(FIELD(Plugins, hallucination), kHallucination, "")},
    {"response_jailbreak", object(FIELD(Plugins, response_jailbreak), kResponseJailbreak, "")},
    {"header_mutation", object(FIELD(Plugins, header_mutation), kHeaderMutation, "")},
    {"router_replay", object(FIELD(Plugins, router_replay), kRouterReplayPlugin, "")},
    {"shadow_dispatch", object(FIELD(Plugins, shadow_dispatch), kShadowDispatch, "")},
    {"memory", object(FIELD(Plugins, memory), kMemoryPlugin, "")},
    {"rag", object(FIELD(Plugins, rag), kRag, ""), true},
    {"image_gen", object(FIELD(Plugins, image_gen), kImageGen, ""), true},
    {"request_params", object(FIELD(Plugins, request_params), kRequestParams, "")},
    {"pii_mask", object(FIELD(Plugins, pii_mask), kPiiMask, "")},
};

}  // namespace signalbox::config
