// `global.model_catalog`: the models that classify requests, and what they are used for, without
// the settings of each task, which are in modules.cc; and `global.integrations`.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"
#include "weights/manifest_places.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

// --- embeddings ---

constexpr std::string_view kOwnBounds = "the router has bounds of its own for calls";

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
    object(FIELD(EmbeddingModel, prototype_scoring), kPrototypeScoring, kScoreFromExamples),
    number(FIELD(EmbeddingModel, similarity_exponent), 0.1, 4,
           "Exponent of a cosine before it is compared with a threshold. Default: 1 if "
           "`minilm_model_path` is given, otherwise 0.4, and 0.68 for `reask`, because thresholds "
           "were then chosen for the Semantic Router's model. Signalbox only."),
    unread("full_context", "Texts beyond the model's usual length.",
           "long texts are read in windows"),
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
    unread("max_response_bytes", "Greatest size of a reply.", kOwnBounds),
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
    return reader.at_key(
        each.key, [&] { use_embedder(reader, node.find(each.key)->line, path, each.key, model); });
  }
}

void check_embedding_endpoint(Reader& reader, const yaml::Node& node,
                              std::optional<EmbeddingEndpoint>& endpoint) {
  if (!endpoint || endpoint->base_url.empty()) return;
  if (!endpoint->api_key_env.empty())
    note_unset(reader, node, "api_key_env", endpoint->api_key_env, "the server is not called");
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
        .no_effect(kRunsOnProcessor)
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
    unread("bert", "Another embedding model.", "semantic names the embedding model"),
};
constexpr Section kEmbeddings{kEmbeddingsKeys};

constexpr std::string_view kNoSignal = "no signal here uses it";

constexpr Key kDecisionModelKeys[] = {
    text(FIELD_AS("deployment", SystemModels, decision_deployment),
         "One of `global.model_catalog.deployments`, with `provider: http`."),
};
constexpr Section kDecisionModel{kDecisionModelKeys};

// A text is the name of a model that the Semantic Router runs itself.
void read_decision_model(Reader& reader, const yaml::Node& node, SystemModels& models) {
  if (node.kind == yaml::Kind::kMapping) return read_section(reader, node, kDecisionModel, &models);
  reader.does_without(node.line, "has no effect: expected a deployment, whose server answers");
}

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
    string(FIELD(SystemModels, safety), "Directory of the model of `safety` signals."),
    unread("hazard", "Model of kinds of hazards.", kNoSignal),
    object(same<SystemModels>("decision_model"), kDecisionModel,
           "Answers the questions of signals `decision` that name no deployment.")
        .or_text()
        .read_by<read_decision_model>(),
};
constexpr Section kSystemModels{kSystemModelsKeys};

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
           "marks personal data, `classification` assigns classes; others are for people."),
    object(FIELD(ExternalModel, llm_endpoint), kExternalEndpoint, "The server."),
    text(FIELD(ExternalModel, llm_model_name),
         "Name of the model. Required, unless `model_role` is `classification`, `guardrail` or "
         "`pii`; `http_chat` and judges always require it."),
    count(FIELD(ExternalModel, llm_timeout_seconds),
          "Time limit of a call, in seconds. 0: 5 seconds."),
    string(FIELD(ExternalModel, parser_type), "How to read a reply.")
        .no_effect("a reply is a label, or a JSON object with one")
        .unless("json auto simple"),
    share(FIELD(ExternalModel, threshold), "Least score."),
    string(FIELD(ExternalModel, access_key), "API key, sent as a bearer token."),
    count(FIELD(ExternalModel, max_tokens), "Greatest length of a reply, in tokens. 0: 64."),
    positive(FIELD(ExternalModel, temperature), "Temperature of a call. Default: 0."),
    unread("reasoning", "Reasoning of the model.", "the server decides whether its model reasons"),
    unread("max_request_bytes", "Greatest size of a request.", kOwnBounds),
    unread("max_response_bytes", "Greatest size of a reply.", kOwnBounds),
};

void check_external_model(Reader& reader, const yaml::Node& node, ExternalModel& model) {
  // The request to a classifier names no model, because its server has one. A guard may be one.
  const auto has_role = [&](std::string_view role) {
    return ascii::iequals(model.model_role, role);
  };
  const bool is_missing = given(node, "llm_model_name") == nullptr;
  const bool may_classify = has_role("classification") || has_role("guardrail") || has_role("pii");
  if (is_missing && !may_classify)
    reader.at_key("llm_model_name", [&] { reader.error(node.line, "missing; expected a string"); });
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
    object(FIELD(KnowledgeBase, prototype_scoring), kPrototypeScoring, kScoreFromExamples),
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
    map(FIELD(Config, deployments), kDeployment,
        "The places where models run, by names for bindings."),
    map(FIELD(Config, bindings), kBinding,
        "Models by task: `domain_classifier`, `pii_classifier`, `prompt_guard`, "
        "`feedback_detector`, `fact_check_classifier`, `modality_detector`, "
        "`hallucination_detector`, `hallucination_explainer`, `embedding`, `rag.reranker`, and "
        "`classifier.NAME` for a signal. A binding precedes the module's own model."),
    unread("signal_timeout_ms", "Time limit of the models for a request.",
           "global.services.http bounds the time of all models"),
    unread("admission", "Bounds on the texts that a model classifies at a time.",
           "global.services.http bounds the work of all models"),
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
          "Model names of requests for it: only the decisions of this algorithm, guards and "
          "decisions with an action are compared."),
};
constexpr Section kLooperNames{kLooperNamesKeys};

constexpr Key kLooperFileKeys[] = {
    text(FIELD(Looper::FileState, directory),
         "Folder of the files, for `file`. It is created. One router uses it."),
};
constexpr Section kLooperFile{kLooperFileKeys};

constexpr Key kLooperStateKeys[] = {
    string(FIELD(Looper::FlowState, store_backend),
           "Store of the states: `memory` (default); `file`, which keeps them over a restart; or "
           "`redis` or `valkey`, where routers share them.")
        .then<read_valkey_as_redis>(),
    integer(FIELD(Looper::FlowState, ttl_seconds), 1, 1'000'000'000,
            "Time that a client has for its tools, in seconds. Default: 1800."),
    object(FIELD(Looper::FlowState, file), kLooperFile, "Settings of `file`."),
    object(FIELD(Looper::FlowState, redis), kRedis, "The server, for `redis` or `valkey`.")
        .also("valkey"),
};

void check_flow_state(Reader& reader, const yaml::Node& node, Looper::FlowState& state) {
  if (state.store_backend != "file") {
    note_unused(reader, node, {"file"},
                is_shared(state.store_backend, state.redis) ? "redis" : "memory", true);
    check_store(reader, node, {"store_backend", state.store_backend, "states of workflows"},
                state.redis);
    return;
  }
  note_unused(reader, node, {"redis"}, state.store_backend, true);
  if (!state.file.directory.empty()) return;
  reader.at_key("store_backend", [&] {
    reader.does_without(node.find("store_backend")->line,
                        "file.directory is missing: states of workflows are kept in memory");
  });
}

constexpr Section kLooperState{kLooperStateKeys, checked<check_flow_state>};

constexpr Key kLooperFlowKeys[] = {
    texts(FIELD(Looper::Flow, model_names), "Model names of requests for `workflows`."),
    object(FIELD(Looper::Flow, state), kLooperState,
           "States of workflows whose clients call tools meanwhile."),
};
constexpr Section kLooperFlow{kLooperFlowKeys};

constexpr Key kLooperStreamKeys[] = {
    duration(FIELD(Looper::Waiting, open_after), 0ms, 24h,
             "Time from the first call to the beginning of the stream, if there is no answer by "
             "then. Default: 1s. Until then the reply may still get the status of an error."),
    duration(FIELD(Looper::Waiting, keep_alive), 100ms, 1h,
             "Silence after which a stream gets a comment. Default: 10s."),
};
constexpr Section kLooperStream{kLooperStreamKeys};

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
    object(FIELD(Looper, stream), kLooperStream,
           "Replies that clients get as a stream. Signalbox only."),
};
constexpr Section kLooper{kLooperKeys};

constexpr Key kIntegrationsKeys[] = {
    object(FIELD(Config, tools), kToolsIntegration, "Tools for requests."),
    object(FIELD(Config, looper), kLooper, "Algorithms that call several models for a request."),
    unread("kv_transfer", "Caches that follow a conversation to another model.",
           "a model that takes over a conversation reads it anew"),
};

// --- how examples are compared ---

constexpr Key kPrototypeScoringKeys[] = {
    boolean(FIELD(PrototypeScoring, enabled), "Cluster the examples. Default: true."),
    number(FIELD(PrototypeScoring, cluster_similarity_threshold), -1, 1,
           "Examples that are more similar become one prototype. Default: 0.9."),
    count(FIELD(PrototypeScoring, max_prototypes),
          "Greatest number of prototypes of a class. 0 (default): no limit."),
    share(FIELD(PrototypeScoring, best_weight),
          "Weight of the nearest prototype; the mean has the rest. Default: 0.75."),
    count(FIELD(PrototypeScoring, top_m), "Prototypes in the mean. Default: 2."),
    number(
        FIELD(PrototypeScoring, margin_threshold), -1, 2,
        "Least margin to the next class. Only preferences compare it, as in the Semantic Router."),
};

}  // namespace

bool use_embedder(Reader& reader, uint32_t line, const std::string& path, std::string_view key,
                  EmbeddingModel& model) {
  std::error_code ignored;
  if (path == model.path || std::filesystem::exists(weights::installed_directory(path), ignored)) {
    model.path = path;
    model.path_key = key;
    return true;
  }
  const std::string command = weights::pull_command(path);
  reader.notice(
      line, fmt::format("there is no model at \"{}\"{}; the model at \"{}\" is used, with all of "
                        "its layers and numbers",
                        path, command.empty() ? "" : fmt::format("; fetch it with `{}`", command),
                        model.path));
  model.target_layer = model.target_dimension = 0;
  return false;
}

constinit const Section kPrototypeScoring{kPrototypeScoringKeys};
constinit const Section kCatalog{kCatalogKeys};
constinit const Section kIntegrations{kIntegrationsKeys};

}  // namespace signalbox::config
