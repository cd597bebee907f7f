// The keys of the plugin context_compression.

#include "base/ascii.h"
#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

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

void check_lengths(Reader& reader, const yaml::Node& node, Compression::Target& target) {
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
constexpr Section kToolOutputs{kToolOutputsKeys, checked<check_lengths>};

constexpr Key kOtherTargetKeys[] = {
    word(FIELD(Compression::Target, mode), kTargetModes, "Shorten the text, or keep it.")
        .not_built("the text is kept whole")
        .unless("preserve"),
    kMinTokensKey.not_built("the text is kept whole").unless("0"),
    kTargetTokensKey.not_built("the text is kept whole").unless("0"),
};
constexpr Section kOtherTarget{kOtherTargetKeys};

void note_current_user(Reader& reader, const yaml::Node& node, void*) {
  const yaml::Node* mode = node.find("mode");
  if (mode != nullptr && mode->scalar != "preserve")
    reader.does_without(mode->line, "has no effect: the user's last message is never shortened");
}

constexpr Key kTargetsKeys[] = {
    unbound("current_user", Kind::kAnything, "The user's last message, which is kept.")
        .with(note_current_user),
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
    string(FIELD(Compression::Scoring, embedding_model_ref), "Model, for `embedding`.")
        .not_built("BM25 ranks the passages"),
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

constexpr auto kCompressionControlsKeys =
    request_controls("only response_cache has a lifetime", "");
constexpr Section kCompressionControls{kCompressionControlsKeys};

constexpr Key kContextCompressionKeys[] = {
    enabled<Compression>(kLeavesRequest),
    word(FIELD(Compression, mode), "auto always",
         "`always`: shorten results of any length above their target, in requests of any length."),
    object(FIELD(Compression, budget), kBudget, "Lengths of a request."),
    object(FIELD(Compression, targets), kTargets, "Parts of the request to shorten."),
    object(FIELD(Compression, scoring), kScoring, "How to choose the passages to keep."),
    object(FIELD(Compression, recovery), kRecovery, "Access to the omitted text.")
        .not_built("the model cannot request the omitted text"),
    object(FIELD(Compression, request_controls), kCompressionControls, "Control by clients."),
    word(FIELD(Compression, failure_mode), "fail_open fail_closed",
         "If the request stays longer than its target: send it, or refuse it."),
};

}  // namespace

constinit const Section kContextCompression{kContextCompressionKeys};

}  // namespace signalbox::config
