// `global.model_catalog`: the models that classify requests, and what they are used for; and
// `global.integrations`.

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

constexpr std::string_view kOnProcessor = "the router runs its models on the processor";
constexpr std::string_view kFromExamples = "How similarities become a score.";

// --- embeddings ---

constexpr Key kEmbeddingConfigKeys[] = {
    integer(FIELD(EmbeddingModel, top_k), 0, 1'000'000,
            "Embedding signals that may match a request, after partitions. 0: all over their "
            "threshold. Default: 1."),
    number(FIELD_AS("min_score_threshold", EmbeddingModel, soft_threshold), -1, 1,
           "Least similarity of soft matching. Default: 0.5."),
    boolean(FIELD_AS("enable_soft_matching", EmbeddingModel, soft_matching),
            "If no signal reaches its threshold, accept `min_score_threshold`. Default: true."),
    string(FIELD(EmbeddingModel, backend),
           "`candle`, `onnx` or `openvino`: a model here, even if there is an `endpoint`. "
           "`openai_compatible`: the endpoint.")
        .no_effect("the router runs the model itself unless there is an endpoint")
        .unless("candle onnx openvino openai_compatible"),
    boolean(FIELD(EmbeddingModel, preload_embeddings), "Compute the examples at start.")
        .no_effect("examples are always computed at start")
        .unless("true yes on"),
    string(
        FIELD(EmbeddingModel, model_type),
        "The model to use: `mmbert`, `qwen3`, `gemma` or `bert`, by its path; `minilm`. Default: "
        "the one whose path is set.")
        .not_built("the model of minilm_model_path is used")
        .unless("mmbert qwen3 gemma bert minilm remote"),
    count(FIELD(EmbeddingModel, target_dimension),
          "First numbers of an embedding to keep, for models trained for it (matryoshka). 0, or "
          "more than the model has: all."),
    count(FIELD(EmbeddingModel, target_layer),
          "Layers to run, for models trained for an early exit. 0, or more than the model has: "
          "all."),
    object(FIELD(EmbeddingModel, prototype_scoring), kPrototypeScoring, kFromExamples),
    number(FIELD(EmbeddingModel, similarity_exponent), 0.1, 4,
           "Exponent of a cosine before it is compared with a threshold. Default: 1 if "
           "`minilm_model_path` is given, otherwise 0.4, and 0.68 for `reask`, because thresholds "
           "were then chosen for upstream's model. Signalbox only."),
};
constexpr Section kEmbeddingConfig{kEmbeddingConfigKeys};

constexpr Key kEmbeddingEndpointKeys[] = {
    string(FIELD(EmbeddingEndpoint, base_url),
           "URL of the server, before `/embeddings`: `https://HOST/v1`."),
    string(FIELD(EmbeddingEndpoint, model), "Name of the model."),
    string(FIELD(EmbeddingEndpoint, api_key_env), "Environment variable that contains the key."),
    count(FIELD(EmbeddingEndpoint, timeout_seconds),
          "Time limit of a call, in seconds. 0: 10 seconds."),
    count(FIELD(EmbeddingEndpoint, max_retries), "Further attempts of a call. At most 5."),
    count(FIELD(EmbeddingEndpoint, dimensions),
          "Numbers of an embedding to request. 0: the server's own."),
};
constexpr Section kEmbeddingEndpoint{kEmbeddingEndpointKeys};

constexpr std::string_view kOtherModel = "embedding signals use the model of minilm_model_path";
constexpr std::string_view kModelDirectory =
    "Directory of another embedding model. If it does not exist, the one of minilm_model_path is "
    "used.";

struct EmbedderKey {
  std::string_view type, key;
  std::string EmbeddingModel::*path;
};
constexpr EmbedderKey kEmbedderKeys[] = {
    {"mmbert", "mmbert_model_path", &EmbeddingModel::mmbert_model_path},
    {"qwen3", "qwen3_model_path", &EmbeddingModel::qwen3_model_path},
    {"gemma", "gemma_model_path", &EmbeddingModel::gemma_model_path},
    {"bert", "bert_model_path", &EmbeddingModel::bert_model_path},
};

// Selects the directory of the model type; without a type, the first that the file sets.
void choose_embedder(Reader& reader, const yaml::Node& node, EmbeddingModel& model) {
  const bool any = model.model_type.empty() && node.find("minilm_model_path") == nullptr;
  for (const EmbedderKey& each : kEmbedderKeys) {
    const std::string& path = model.*each.path;
    if (path.empty() || !(any || model.model_type == each.type)) continue;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) {
      model.path = path;
      model.path_key = each.key;
      return;
    }
    reader.at_key(each.key, [&] {
      reader.notice(node.find(each.key)->line,
                    fmt::format("there is no model at \"{}\"; the model at \"{}\" is used, with "
                                "all of its layers and numbers",
                                path, model.path));
    });
    model.target_layer = model.target_dimension = 0;
    return;
  }
}

void check_embedding_endpoint(Reader& reader, const yaml::Node& node,
                              std::optional<EmbeddingEndpoint>& endpoint) {
  if (!endpoint || endpoint->base_url.empty()) return;
  if (const auto address = parse_base_url(endpoint->base_url); !address) {
    reader.at_key("base_url", [&] { reader.error(node.line, address.error().message); });
  }
}

constexpr Key kSemanticKeys[] = {
    text(FIELD_AS("minilm_model_path", EmbeddingModel, path),
         "Directory of the embedding model. Default: models/minilm."),
    object(same<EmbeddingModel>("embedding_config"), kEmbeddingConfig,
           "How similarities become matches."),
    boolean(FIELD(EmbeddingModel, use_cpu), "Run the model on the processor.")
        .no_effect(kOnProcessor)
        .unless("true yes on"),
    string(FIELD(EmbeddingModel, mmbert_model_path), kModelDirectory),
    string(FIELD(EmbeddingModel, bert_model_path), kModelDirectory),
    string(FIELD(EmbeddingModel, qwen3_model_path), kModelDirectory),
    string(FIELD(EmbeddingModel, gemma_model_path), kModelDirectory),
    string(FIELD(EmbeddingModel, multimodal_model_path), "Directory of a model for images.")
        .not_built(kOtherModel),
    object(FIELD(EmbeddingModel, endpoint), kEmbeddingEndpoint,
           "Server with OpenAI's embeddings API that embeds the texts instead of a model here.")
        .then<check_embedding_endpoint>(),
};
constexpr Section kSemantic{kSemanticKeys};

constexpr Key kEmbeddingsKeys[] = {
    object(FIELD_AS("semantic", Config, embedding_model), kSemantic, "The embedding model.")
        .then<choose_embedder>(),
};
constexpr Section kEmbeddings{kEmbeddingsKeys};

constexpr Key kSystemModelsKeys[] = {
    string(FIELD(SystemModels, prompt_guard), "Directory of the model that finds jailbreaks."),
    string(FIELD(SystemModels, domain_classifier), "Directory of the model that finds the domain."),
    string(FIELD(SystemModels, pii_classifier), "Directory of the model that finds personal data."),
    string(FIELD(SystemModels, fact_check_classifier),
           "Directory of the model that finds questions of fact."),
    string(FIELD(SystemModels, hallucination_detector),
           "Directory of the model that finds unsupported spans of a reply."),
    string(FIELD(SystemModels, hallucination_explainer),
           "Directory of the NLI model: whether one sentence follows from another."),
    string(FIELD(SystemModels, feedback_detector),
           "Directory of the model that finds the user's opinion of an answer."),
    string(FIELD(SystemModels, reranker),
           "Directory of the cross-encoder with one label behind `/v1/rerank` and `/rerank`. "
           "Default: none."),
};
constexpr Section kSystemModels{kSystemModelsKeys};

// --- modules ---

// Words for a server count in any case: a file that means one must not run a directory in silence.
bool means_server(std::string& variant) {
  std::string lower = ascii::lower_case(variant);
  if (!lower.starts_with("http") && lower != kExternalHook) return false;
  variant = std::move(lower);
  return true;
}

void note_variant(Reader& reader, const yaml::Node& node, std::string& variant) {
  if (means_server(variant))
    reader.does_without(
        node.line,
        fmt::format("has no effect: {}: the router runs the model directory itself and calls no "
                    "server",
                    variant));
}

void check_guard_variant(Reader& reader, const yaml::Node& node, std::string& variant) {
  if (!means_server(variant)) return;
  ClassifierModel guard;
  guard.variant = variant;
  if (!guard.calls_server())
    reader.error(node.line,
                 fmt::format("expected http_classify or http_chat, found \"{}\"", variant));
}

void check_pii_variant(Reader& reader, const yaml::Node& node, std::string& variant) {
  if (means_server(variant) && variant != kHttpClassify)
    reader.error(node.line, fmt::format("expected http_classify, found \"{}\"", variant));
}

constexpr std::string_view kOwnKind =
    "config.json of the model directory selects the kind of model";
constexpr std::string_view kClasses = "JSON file of the classes by number.";

// The keys of every classifier, in the struct itself or in a member of another.
constexpr std::array<Key, 8> kClassifierModelKeys{
    boolean(FIELD(ClassifierModel, enabled), "false does without the model. Default: true."),
    string(FIELD(ClassifierModel, model_ref), "One of `model_catalog.system`."),
    string(FIELD(ClassifierModel, model_id), "Model directory, instead of `model_ref`."),
    share(FIELD(ClassifierModel, threshold), "Least score. 0: the default of the module."),
    boolean(FIELD(ClassifierModel, use_cpu), "Run the model on the processor.")
        .no_effect(kOnProcessor)
        .unless("true yes on"),
    boolean(FIELD(ClassifierModel, use_modernbert), "Kind of model, in older files.")
        .no_effect(kOwnKind),
    boolean(FIELD(ClassifierModel, use_mmbert_32k), "Kind of model, in older files.")
        .no_effect(kOwnKind),
    string(FIELD(ClassifierModel, variant),
           "Kind of model, such as `mmbert32k` or `candle`. The model directory selects it; "
           "`http_...`, a server, is not built.")
        .also("backend")
        .then<note_variant>(),
};

template <size_t N>
constexpr std::array<Key, 8 + N> classifier_with(const Key (&more)[N]) {
  std::array<Key, 8 + N> all;
  for (size_t i = 0; i < 8; ++i) all[i] = kClassifierModelKeys[i];
  for (size_t i = 0; i < N; ++i) all[8 + i] = more[i];
  return all;
}

constexpr Section kPlainClassifier{kClassifierModelKeys};

constexpr Choice kGuardOnError[] = {{"allow", ClassifierModel::OnError::kAllow},
                                    {"block", ClassifierModel::OnError::kBlock}};

constexpr Choice kOnUnread[] = {{"refuse", ClassifierModel::OnUnread::kRefuse},
                                {"judge", ClassifierModel::OnUnread::kJudge}};

constexpr Key kGuardVariant =
    string(
        FIELD(ClassifierModel, variant),
        "`http_classify`, `http_chat` or `external`: the model of "
        "`global.model_catalog.external` with the role `guardrail` judges. Others name a kind of "
        "model, which the model directory selects.")
        .also("backend")
        .then<check_guard_variant>();

constexpr auto kOtherGuardKeys = classifier_with({
    word(FIELD_AS("protocol", ClassifierModel, variant), "http_classify http_chat external",
         "Another name of `variant` for a model on a server."),
    string(FIELD_AS("jailbreak_mapping_path", ClassifierModel, mapping_path), kClasses),
    texts(FIELD(ClassifierModel, positive_labels), "Classes that are attempts.")
        .then<refuse_twice<ascii::lower_case, std::string>>(),
    choice(FIELD(ClassifierModel, on_error), kGuardOnError,
           "Result for a request if the model fails: no attempt, or an attempt. Default: an "
           "attempt where a decision blocks."),
    integer(FIELD(ClassifierModel, windows_max), 1, 1'000'000,
            "Windows of a request that the model reads, about 1 KB each; repeated passages count "
            "once. Default: 1536."),
    choice(FIELD(ClassifierModel, on_unread), kOnUnread,
           "Result for a request with more windows: 413 at once (`refuse`, the default), or the "
           "verdict on its beginning, its end and evenly chosen windows between (`judge`)."),
    boolean(FIELD(ClassifierModel, screen),
            "Lets the model's screen, if it has one, clear windows of long texts. Default: true."),
});

constexpr auto with_variant(auto keys, const Key& variant) {
  *std::ranges::find(keys, variant.name, &Key::name) = variant;
  return keys;
}
constexpr auto kPromptGuardKeys = with_variant(kOtherGuardKeys, kGuardVariant);
constexpr Section kPromptGuard{kPromptGuardKeys};

constexpr auto kDomainClassifierKeys = classifier_with({
    string(FIELD_AS("category_mapping_path", ClassifierModel, mapping_path), kClasses),
    string(FIELD(ClassifierModel, fallback_category), "Domain if no class reaches the threshold."),
});
constexpr Section kDomainClassifier{kDomainClassifierKeys};

constexpr Key kPiiVariant =
    string(
        FIELD(ClassifierModel, variant),
        "`http_classify`: the model of `global.model_catalog.external` with the role `pii` marks "
        "personal data. Others name a kind of model, which the model directory selects.")
        .also("backend")
        .then<check_pii_variant>();

constexpr auto kOtherPiiKeys = classifier_with({
    string(FIELD_AS("pii_mapping_path", ClassifierModel, mapping_path),
           "JSON file of the types by number. The file pii_type_mapping.json of the model "
           "directory is read, too."),
});
constexpr auto kPiiClassifierKeys = with_variant(kOtherPiiKeys, kPiiVariant);
constexpr Section kPiiClassifier{kPiiClassifierKeys};

constexpr auto kFeedbackKeys = classifier_with({
    string(FIELD_AS("feedback_mapping_path", ClassifierModel, mapping_path), kClasses),
});
constexpr Section kFeedback{kFeedbackKeys};

constexpr Key kMcpKeys[] = {
    boolean(FIELD(McpClassifier, enabled), "Let an MCP server classify the domain."),
    string(FIELD(McpClassifier, transport_type), "`stdio` or `http`."),
    string(FIELD(McpClassifier, command), "Command, for `stdio`."),
    texts(FIELD(McpClassifier, args), "Arguments of the command."),
    text_map(FIELD(McpClassifier, env), "Environment of the command."),
    string(FIELD(McpClassifier, url), "URL, for `http`."),
    string(FIELD(McpClassifier, tool_name), "Tool of the server."),
    share(FIELD(McpClassifier, threshold), "Least score."),
    count(FIELD(McpClassifier, timeout_seconds), "Time limit of a call, in seconds."),
};
constexpr Section kMcp{kMcpKeys};

constexpr Key kPreferenceModelKeys[] = {
    boolean(FIELD(PreferenceModel, use_contrastive),
            "Compare requests with the examples (default), or let the model of "
            "`global.model_catalog.external` with the role `preference` judge."),
    string(FIELD(PreferenceModel, embedding_model), "Model that compares.")
        .not_built("the router's own embedding model compares"),
    object(FIELD(PreferenceModel, prototype_scoring), kPrototypeScoring, kFromExamples),
};
constexpr Section kPreferenceModel{kPreferenceModelKeys};

constexpr Key kClassifiersKeys[] = {
    object(FIELD(ClassifierModules, domain), kDomainClassifier, "Fields of knowledge."),
    object(FIELD(ClassifierModules, pii), kPiiClassifier, "Personal data."),
    object(FIELD(ClassifierModules, mcp), kMcp, "Fields of knowledge, by an MCP server.")
        .not_built("no MCP server is called"),
    object(FIELD(ClassifierModules, preference), kPreferenceModel, "Preferences for answers."),
};
constexpr Section kClassifiers{kClassifiersKeys};

constexpr Key kCompressionKeys[] = {
    boolean(FIELD(PromptCompression, enabled), "Shorten the text that models classify."),
    word(FIELD(PromptCompression, profile), "default coding medical security multi_turn multi-turn",
         "Set of default weights."),
    count(FIELD(PromptCompression, max_tokens),
          "Length of a shortened text, in tokens. 0: no text is shortened. Default: 512."),
    count(FIELD(PromptCompression, min_length), "Texts of fewer bytes are never shortened."),
    texts(FIELD(PromptCompression, skip_signals),
          "Types of signals that read the whole text; jailbreak and pii always do."),
    positive(FIELD(PromptCompression, textrank_weight),
             "Weight of sentences that resemble many others."),
    positive(FIELD(PromptCompression, position_weight), "Weight of the beginning and the end."),
    positive(FIELD(PromptCompression, tfidf_weight), "Weight of rare words."),
    positive(FIELD(PromptCompression, novelty_weight), "Weight of sentences unlike the others."),
    number(FIELD(PromptCompression, position_depth), 0, 1, "Loss of weight in the middle."),
    count(FIELD(PromptCompression, preserve_first_n), "First sentences to keep."),
    count(FIELD(PromptCompression, preserve_last_n), "Last sentences to keep."),
};
constexpr Section kPromptCompression{kCompressionKeys};

constexpr std::string_view kNoEndpoint = "no language model examines spans";
constexpr auto kDetectorModel = FIELD(HallucinationDetector, model);

constexpr Key kDetectorKeys[] = {
    string(FIELD(HallucinationDetector, backend), "`candle`, the model here, or `endpoint`.")
        .not_built("the model here is used, not the endpoint")
        .unless("candle"),
    string(FIELD(HallucinationDetector, endpoint), "URL, for `endpoint`.").not_built(kNoEndpoint),
    boolean(FIELD(HallucinationDetector, include_explanation), "Explain each span, for `endpoint`.")
        .not_built(kNoEndpoint),
    count(FIELD(HallucinationDetector, min_span_length),
          "Least length of a span, in words. Default: 2."),
    share(FIELD(HallucinationDetector, min_span_confidence),
          "Least confidence of a span. Default: 0.6."),
    count(FIELD(HallucinationDetector, context_window_size), "Words of context around a span.")
        .not_built("a sentence is compared with the whole context"),
    boolean(FIELD(HallucinationDetector, enable_nli_filtering),
            "Drop spans that follow from the context, like `use_nli` of the plugin."),
    share(FIELD(HallucinationDetector, nli_entailment_threshold),
          "Least score of the NLI model to drop a span. Default: 0.75."),
    // All keys of a classifier but `variant`.
    kClassifierModelKeys[0].inside(kDetectorModel),
    kClassifierModelKeys[1].inside(kDetectorModel),
    kClassifierModelKeys[2].inside(kDetectorModel),
    kClassifierModelKeys[3].inside(kDetectorModel),
    kClassifierModelKeys[4].inside(kDetectorModel),
    kClassifierModelKeys[5].inside(kDetectorModel),
    kClassifierModelKeys[6].inside(kDetectorModel),
};
constexpr Section kDetector{kDetectorKeys};

constexpr Key kMitigationKeys[] = {
    boolean(FIELD(HallucinationMitigation, enabled), "Check replies."),
    string(FIELD(HallucinationMitigation, on_hallucination_detected),
           "Action, in older files: `annotate` and others.")
        .no_effect("hallucination_action of the plugin hallucination selects the action"),
    object(FIELD(HallucinationMitigation, fact_check), kPlainClassifier,
           "Finds questions of fact."),
    object(FIELD(HallucinationMitigation, detector), kDetector, "Finds unsupported spans."),
    object(FIELD(HallucinationMitigation, explainer), kPlainClassifier,
           "NLI model: whether sentences follow from the context."),
};
constexpr Section kMitigation{kMitigationKeys};

constexpr Key kComplexityModuleKeys[] = {
    object(FIELD(ComplexityModule, prototype_scoring), kPrototypeScoring, kFromExamples),
};
constexpr Section kComplexityModule{kComplexityModuleKeys};

constexpr Key kModulesKeys[] = {
    object(FIELD(Modules, prompt_compression), kPromptCompression,
           "Shorter texts for signals that run models."),
    object(FIELD(Modules, prompt_guard), kPromptGuard, "Jailbreaks."),
    object(FIELD(Modules, classifier), kClassifiers, "Domains, personal data and preferences."),
    object(FIELD(Modules, complexity), kComplexityModule, "Difficulty of requests."),
    object(FIELD(Modules, hallucination_mitigation), kMitigation,
           "Replies that the context does not support."),
    object(FIELD(Modules, feedback_detector), kFeedback, "The user's opinion of an answer."),
    object(FIELD(Modules, modality_detector), kModalityDetection, "Text or image."),
};
constexpr Section kModules{kModulesKeys};

// --- other models, knowledge bases ---

using ExternalEndpoint = ExternalModel::Endpoint;

constexpr std::string_view kOwnPrompt =
    "the router writes the prompt, and the server applies its model's template";

void check_guard_path(Reader& reader, const yaml::Node& node, std::string& path) {
  if (path.empty() ||
      (path.starts_with('/') && is_header_value(path) && path.find(' ') == std::string::npos))
    return;
  reader.error(node.line, fmt::format("expected a path that begins with /, found \"{}\"", path));
}

constexpr Key kExternalEndpointKeys[] = {
    string(FIELD(ExternalEndpoint, name), "Name of the endpoint."),
    string(FIELD(ExternalEndpoint, address), "Host."),
    integer(FIELD(ExternalEndpoint, port), 0, 65535, "Port. 0: that of the protocol."),
    word(FIELD(ExternalEndpoint, protocol), "http https", "Protocol. Default: `http`."),
    string(FIELD(ExternalEndpoint, path),
           "Path of a guard or classifier, instead of that of its API. Signalbox only.")
        .then<check_guard_path>(),
    boolean(FIELD(ExternalEndpoint, use_chat_template), "Put the text into the template.")
        .no_effect(kOwnPrompt)
        .unless("true yes on"),
    string(FIELD(ExternalEndpoint, prompt_template), "Template of the prompt.")
        .no_effect(kOwnPrompt),
};

void check_external_endpoint(Reader& reader, const yaml::Node& node, ExternalEndpoint& endpoint) {
  if (endpoint.address.empty() || is_host_alone(endpoint.address)) return;
  reader.at_key("address", [&] {
    reader.error(node.find("address")->line,
                 fmt::format("expected a host without a scheme, a port or brackets, found \"{}\"; "
                             "the keys port and protocol set the others",
                             endpoint.address));
  });
}

constexpr Section kExternalEndpoint{kExternalEndpointKeys, checked<check_external_endpoint>};

constexpr Key kExternalModelKeys[] = {
    string(FIELD(ExternalModel, name), "Name for signals."),
    string(FIELD(ExternalModel, llm_provider), "API of the server: OpenAI's chat completions.")
        .no_effect("the server is called by OpenAI's chat completions")
        .unless("openai vllm"),
    string(FIELD(ExternalModel, model_role),
           "`preference` judges preferences, `guardrail` attempts to override instructions, `pii` "
           "marks personal data; others are for people."),
    object(FIELD(ExternalModel, llm_endpoint), kExternalEndpoint, "The server."),
    text(FIELD(ExternalModel, llm_model_name), "Name of the model.").required(),
    count(FIELD(ExternalModel, llm_timeout_seconds),
          "Time limit of a call, in seconds. 0: 5 seconds."),
    string(FIELD(ExternalModel, parser_type), "How to read a reply.")
        .no_effect("a reply is a label, or a JSON object with one")
        .unless("json auto simple"),
    share(FIELD(ExternalModel, threshold), "Least score."),
    string(FIELD(ExternalModel, access_key), "API key, sent as a bearer token."),
    count(FIELD(ExternalModel, max_tokens), "Greatest length of a reply, in tokens. 0: 64."),
    positive(FIELD(ExternalModel, temperature), "Temperature of a call. Default: 0."),
};

void check_external_model(Reader& reader, const yaml::Node& node, ExternalModel& model) {
  if (is_header_value(model.access_key)) return;
  reader.at_key("access_key", [&] {
    reader.error(node.find("access_key")->line, "expected one line without control characters");
  });
}

constexpr Section kExternalModel{kExternalModelKeys, checked<check_external_model>};

constexpr Key kKbSourceKeys[] = {
    text(FIELD(KnowledgeBase::Source, path), "Folder of the knowledge base.").required(),
    string(FIELD(KnowledgeBase::Source, manifest), "File in it with the labels and examples."),
};
constexpr Section kKbSource{kKbSourceKeys};

constexpr Key kKbMetricKeys[] = {
    text(FIELD(KnowledgeBase::Metric, name), "Name for scores.").required(),
    word(FIELD(KnowledgeBase::Metric, type), "group_margin",
         "Best similarity of the positive group minus that of the negative group."),
    string(FIELD(KnowledgeBase::Metric, positive_group), "The positive group."),
    string(FIELD(KnowledgeBase::Metric, negative_group), "The negative group."),
};
constexpr Section kKbMetric{kKbMetricKeys};

constexpr Key kKnowledgeBaseKeys[] = {
    text(FIELD(KnowledgeBase, name), "Name for signals.").required(),
    object(FIELD(KnowledgeBase, source), kKbSource, "Place of the knowledge base.").required(),
    number(FIELD(KnowledgeBase, threshold), -1, 1, "Least similarity to a label."),
    object(FIELD(KnowledgeBase, prototype_scoring), kPrototypeScoring, kFromExamples),
    number_map(FIELD(KnowledgeBase, label_thresholds), "Least similarity to single labels."),
    texts_map(FIELD(KnowledgeBase, groups), "Groups of labels."),
    named(FIELD(KnowledgeBase, metrics), kKbMetric, "Numbers for projections."),
};
constexpr Section kKnowledgeBase{kKnowledgeBaseKeys};

constexpr Choice kMissingModels[] = {{"fail", MissingModels::kFail},
                                     {"stand-in", MissingModels::kStandIn},
                                     {"ignore", MissingModels::kIgnore}};

constexpr Key kCatalogKeys[] = {
    object(same<Config>("embeddings"), kEmbeddings, "Models that embed texts."),
    object(FIELD_AS("system", Config, system_models), kSystemModels, "Models by their task."),
    choice(
        FIELD(Config, missing_models), kMissingModels,
        "Reaction to a classifier whose directory does not exist: an error if a decision depends "
        "on it; the router's own head for the same task in its place (default), and the error "
        "if there is none; or none. --missing-models overrides it. Signalbox only."),
    object(FIELD(Config, modules), kModules, "Settings of each task."),
    list(FIELD_AS("external", Config, external_models), kExternalModel,
         "Language models on servers that judge requests.")
        .then<refuse_twice<&ExternalModel::name, ExternalModel>>(),
    named(FIELD(Config, kbs), kKnowledgeBase, "Knowledge bases: labels with examples."),
};

// --- integrations ---

constexpr Key kToolsIntegrationKeys[] = {
    boolean(FIELD(ToolsIntegration, enabled),
            "Add tools to requests that leave the choice of tools to the model."),
    count(FIELD(ToolsIntegration, top_k), "Tools to add. Default: 3."),
    number(FIELD(ToolsIntegration, similarity_threshold), -1, 1,
           "Least similarity to the request."),
    string(FIELD(ToolsIntegration, tools_db_path), "File of the tools."),
    boolean(FIELD(ToolsIntegration, fallback_to_empty),
            "If ranking fails, send no tools instead of all."),
    object(FIELD(ToolsIntegration, advanced_filtering), kToolFiltering,
           "Ranking by more than similarity."),
};
constexpr Section kToolsIntegration{kToolsIntegrationKeys};

constexpr Key kLooperNamesKeys[] = {
    texts(FIELD(Looper::Names, model_names),
          "Model names of requests for it: only the decisions of this algorithm are compared."),
};
constexpr Section kLooperNames{kLooperNamesKeys};

constexpr Key kLooperFileKeys[] = {
    string(FIELD(Looper::FileState, directory), "Folder of the files."),
};
constexpr Section kLooperFile{kLooperFileKeys};

constexpr Key kLooperStateKeys[] = {
    string(FIELD(Looper::FlowState, store_backend), "`file`, `memory` or `redis`."),
    count(FIELD(Looper::FlowState, ttl_seconds), "Lifetime, in seconds."),
    object(FIELD(Looper::FlowState, file), kLooperFile, "Settings of `file`."),
    object(FIELD(Looper::FlowState, redis), kRedis, "The server, for `redis`."),
};
constexpr Section kLooperState{kLooperStateKeys};

constexpr Key kLooperFlowKeys[] = {
    texts(FIELD(Looper::Flow, model_names), "Model names of requests for `workflows`."),
    object(FIELD(Looper::Flow, state), kLooperState, "State of a plan between calls.")
        .no_effect("a request with results of tools carries its plan out anew"),
};
constexpr Section kLooperFlow{kLooperFlowKeys};

constexpr Key kLooperKeys[] = {
    string(FIELD(Looper, endpoint), "URL of the router itself.")
        .no_effect("calls go to the models' servers directly"),
    count(FIELD(Looper, grpc_max_msg_size_mb), "Greatest size of a message, in MB.")
        .no_effect("calls go to the models' servers directly"),
    count(FIELD(Looper, max_response_bytes_mb),
          "Greatest size of a reply, in MB. Default: 32. A longer one counts as failed."),
    count(FIELD(Looper, timeout_seconds),
          "Time limit of a call, in seconds. Default: that of the listener."),
    count(FIELD(Looper, retry_count), "Further attempts of a call.")
        .no_effect("the model's `reliability` decides about further attempts"),
    text_map(FIELD(Looper, headers), "Headers to send with every call."),
    object(FIELD(Looper, remom), kLooperNames, "Rounds of replies."),
    object(FIELD(Looper, fusion), kLooperNames, "A panel of models and a judge."),
    object(FIELD(Looper, flow), kLooperFlow, "Steps of a plan."),
    object(FIELD(Looper, budget), kLoopBudget,
           "Bounds on the calls of one request. Default: 64 calls and no other bound. "
           "Signalbox only."),
    integer(FIELD(Looper, max_concurrent), 1, 256,
            "Greatest number of calls of one request at a time. Default: 16. Signalbox only."),
};
constexpr Section kLooper{kLooperKeys};

constexpr Key kIntegrationsKeys[] = {
    object(FIELD(Config, tools), kToolsIntegration, "Tools for requests."),
    object(FIELD(Config, looper), kLooper, "Algorithms that call several models for a request."),
};

}  // namespace

constinit const Section kCatalog{kCatalogKeys};
constinit const Section kIntegrations{kIntegrationsKeys};

}  // namespace signalbox::config
