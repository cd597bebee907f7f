// `global.model_catalog.modules`: the settings of each task that classifies requests or replies.

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.h"
#include "base/yaml_tree.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// Words for a server are compared without case, so that a file that means a server never runs a
// model directory in silence.
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

void expect_guard(Reader& reader, const yaml::Node& node, std::string& variant) {
  ClassifierModel guard;
  guard.variant = variant;
  if (!guard.calls_server())
    reader.error(node.line,
                 fmt::format("expected http_classify or http_chat, found \"{}\"", variant));
}

void expect_classifier(Reader& reader, const yaml::Node& node, std::string& variant) {
  if (variant != kHttpClassify)
    reader.error(node.line, fmt::format("expected http_classify, found \"{}\"", variant));
}

using CheckVariant = void (*)(Reader&, const yaml::Node&, std::string&);

// Other words for a variant name a kind of model.
template <CheckVariant kCheck>
void check_variant(Reader& reader, const yaml::Node& node, std::string& variant) {
  if (means_server(variant)) kCheck(reader, node, variant);
}

// A backend is always a server.
template <CheckVariant kCheck>
void check_protocol(Reader& reader, const yaml::Node& node, std::string& protocol) {
  protocol = ascii::lower_case(protocol);
  kCheck(reader, node, protocol);
}

// Older files have no version in the name of a contract.
void complete_contract(Reader&, const yaml::Node&, std::string& contract) {
  if (!contract.ends_with(".v1")) contract += ".v1";
}

/// The keys of `backend`, a server in place of a model here. `contracts` are the forms of a reply.
constexpr std::array<Key, 5> backend_keys(const Key& protocol, std::string_view contracts) {
  return {
      protocol,
      text(FIELD_AS("model", ClassifierModel, server), "One of `global.model_catalog.external`.")
          .required(),
      word(FIELD(ClassifierModel, contract), contracts, "Form of the replies.")
          .then<complete_contract>(),
      integer(FIELD(ClassifierModel, deadline_ms), 1, 3'600'000,
              "Time limit of a call, in milliseconds. Default: that of the server."),
      anything(FIELD(ClassifierModel, circuit_breaker), "When to stop calling a failing server.")
          .no_effect("after three failures in a row the server is not called for a second"),
  };
}
constexpr Key kGuardProtocol =
    text(FIELD_AS("protocol", ClassifierModel, variant), "`http_classify` or `http_chat`.")
        .required()
        .then<check_protocol<expect_guard>>();
constexpr Key kClassProtocol =
    text(FIELD_AS("protocol", ClassifierModel, variant), "`http_classify`.")
        .required()
        .then<check_protocol<expect_classifier>>();
constexpr auto kGuardBackendKeys =
    backend_keys(kGuardProtocol, "label_distribution.v1 label_scores.v1 label_decision.v1");

// With the wrong contract, every reply would fail, and nobody would notice before the first
// request.
void check_contract(Reader& reader, const yaml::Node& node, ClassifierModel& guard) {
  const bool is_chat = guard.variant == kHttpChat;
  if (guard.contract.empty() || is_chat == (guard.contract == kLabelDecision)) return;
  reader.at_key("contract", [&] {
    reader.error(node.find("contract")->line,
                 fmt::format("expected {} with {}, found \"{}\"",
                             is_chat ? kLabelDecision : "label_distribution.v1 or label_scores.v1",
                             guard.variant, guard.contract));
  });
}
constexpr Section kGuardBackend{kGuardBackendKeys, checked<check_contract>};
constexpr auto kClassBackendKeys =
    backend_keys(kClassProtocol, "label_distribution.v1 label_distribution");
constexpr Section kClassBackend{kClassBackendKeys};
constexpr auto kSpanBackendKeys = backend_keys(kClassProtocol, "token_spans.v1 token_spans");
constexpr Section kSpanBackend{kSpanBackendKeys};

// Older files have a variant, such as `http_classify`, in place of the mapping.
template <const Section& kBackend, CheckVariant kCheck>
void read_backend(Reader& reader, const yaml::Node& node, ClassifierModel& model) {
  if (!model.variant.empty())
    return reader.error(node.line,
                        "\"backend\" takes the place of \"variant\"; expected one of them");
  if (node.kind == yaml::Kind::kMapping) return read_section(reader, node, kBackend, &model);
  auto word = reader.scalar(node, "a mapping or a variant");
  if (!word) return;
  model.variant = std::move(word->text);
  check_variant<kCheck>(reader, node, model.variant);
}

template <const Section& kBackend, CheckVariant kCheck>
constexpr Key backend_key() {
  return object(same<ClassifierModel>("backend"), kBackend,
                "A server that classifies, or another name of `variant`.")
      .or_text()
      .template read_by<read_backend<kBackend, kCheck>>();
}

constexpr std::string_view kOwnKind =
    "config.json of the model directory selects the kind of model";
constexpr std::string_view kInWindows = "the whole text is read, in windows of the model's length";
constexpr std::string_view kClasses = "JSON file of the classes by number.";

// The keys of every classifier, in the struct itself or in a member of another.
constexpr std::array<Key, 10> kClassifierModelKeys{
    boolean(FIELD(ClassifierModel, enabled), "false does without the model. Default: true."),
    string(FIELD(ClassifierModel, model_ref), "One of `model_catalog.system`."),
    string(FIELD(ClassifierModel, model_id), "Model directory, instead of `model_ref`."),
    share(FIELD(ClassifierModel, threshold), "Least score. 0: the default of the module."),
    boolean(FIELD(ClassifierModel, use_cpu), "Run the model on the processor.")
        .no_effect(kRunsOnProcessor)
        .unless("true yes on"),
    boolean(FIELD(ClassifierModel, use_modernbert), "Kind of model, in older files.")
        .no_effect(kOwnKind),
    boolean(FIELD(ClassifierModel, use_mmbert_32k), "Kind of model, in older files.")
        .no_effect(kOwnKind),
    string(FIELD(ClassifierModel, variant),
           "Kind of model, such as `mmbert32k` or `candle`. The model directory selects it; "
           "`http_...`, a server, is not built here.")
        .also("backend")
        .then<note_variant>(),
    unread("max_sequence_length", "Greatest length of a text, in tokens.", kInWindows).unless("0"),
    unread("window", "Size and overlap of the windows of a text.", kInWindows),
};

template <size_t N>
constexpr auto classifier_with(const Key (&more)[N]) {
  constexpr size_t kCommon = kClassifierModelKeys.size();
  std::array<Key, kCommon + N> all;
  for (size_t i = 0; i < kCommon; ++i) all[i] = kClassifierModelKeys[i];
  for (size_t i = 0; i < N; ++i) all[kCommon + i] = more[i];
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
        .then<check_variant<expect_guard>>();

constexpr Key kClassVariant =
    string(FIELD(ClassifierModel, variant),
           "`http_classify`: the model of `global.model_catalog.external` with the role "
           "`classification` classifies. Others name a kind of model, which the model directory "
           "selects.")
        .then<check_variant<expect_classifier>>();
constexpr Key kClassBackendKey = backend_key<kClassBackend, expect_classifier>();

constexpr auto with_variant(auto keys, const Key& variant) {
  *std::ranges::find(keys, variant.name, &Key::name) = variant;
  return keys;
}

constexpr auto kOtherGuardKeys = classifier_with({
    word(FIELD_AS("protocol", ClassifierModel, variant), "http_classify http_chat external",
         "Another name of `variant` for a model on a server."),
    backend_key<kGuardBackend, expect_guard>(),
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

constexpr auto kPromptGuardKeys = with_variant(kOtherGuardKeys, kGuardVariant);
constexpr Section kPromptGuard{kPromptGuardKeys};

constexpr auto kOtherDomainKeys = classifier_with({
    kClassBackendKey,
    string(FIELD_AS("category_mapping_path", ClassifierModel, mapping_path), kClasses),
    string(FIELD(ClassifierModel, fallback_category), "Domain if no class reaches the threshold."),
    unread("calibration", "File by which scores become probabilities.",
           "the scores of the model rank decisions"),
});
constexpr auto kDomainClassifierKeys = with_variant(kOtherDomainKeys, kClassVariant);
constexpr Section kDomainClassifier{kDomainClassifierKeys};

constexpr auto kOtherFactCheckKeys = classifier_with({kClassBackendKey});
constexpr auto kFactCheckKeys = with_variant(kOtherFactCheckKeys, kClassVariant);
constexpr Section kFactCheck{kFactCheckKeys};

constexpr Key kPiiVariant =
    string(
        FIELD(ClassifierModel, variant),
        "`http_classify`: the model of `global.model_catalog.external` with the role `pii` marks "
        "personal data. Others name a kind of model, which the model directory selects.")
        .then<check_variant<expect_classifier>>();

constexpr auto kOtherPiiKeys = classifier_with({
    unread("on_error", "Result if the classifier fails.",
           "decisions with fast_response refuse the request, and so does pii_mask"),
    backend_key<kSpanBackend, expect_classifier>(),
    string(FIELD_AS("pii_mapping_path", ClassifierModel, mapping_path),
           "JSON file of the types by number. The file pii_type_mapping.json of the model "
           "directory is read, too."),
});
constexpr auto kPiiClassifierKeys = with_variant(kOtherPiiKeys, kPiiVariant);
constexpr Section kPiiClassifier{kPiiClassifierKeys};

constexpr auto kOtherFeedbackKeys = classifier_with({
    kClassBackendKey,
    string(FIELD_AS("feedback_mapping_path", ClassifierModel, mapping_path), kClasses),
});
constexpr auto kFeedbackKeys = with_variant(kOtherFeedbackKeys, kClassVariant);
constexpr Section kFeedback{kFeedbackKeys};

constexpr Key kModalityClassifierKeys[] = {
    string(FIELD_AS("model_path", ClassifierModel, model_id), "Model directory."),
    boolean(FIELD(ClassifierModel, use_cpu), "Run the model on the processor.")
        .no_effect(kRunsOnProcessor)
        .unless("true yes on"),
    kClassVariant,
    kClassBackendKey,
    unread("max_sequence_length", "Greatest length of a text, in tokens.", kInWindows).unless("0"),
};

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
    unread("max_response_bytes", "Greatest size of a reply.", "no MCP server is called"),
};
constexpr Section kMcp{kMcpKeys};

constexpr Key kPreferenceModelKeys[] = {
    boolean(FIELD(PreferenceModel, use_contrastive),
            "Compare requests with the examples (default), or let the model of "
            "`global.model_catalog.external` with the role `preference` judge."),
    string(FIELD(PreferenceModel, embedding_model), "Model that compares.")
        .not_built("the router's own embedding model compares"),
    object(FIELD(PreferenceModel, prototype_scoring), kPrototypeScoring, kScoreFromExamples),
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
          "Types of signals that read the whole text; jailbreak, safety and pii always do."),
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

void check_detector_backend(Reader& reader, const yaml::Node& node, std::string& backend) {
  backend = ascii::lower_case(backend);
  if (!backend.empty() && backend != "candle" && backend != "endpoint")
    reader.does_without(node.line, "has no effect: a model here examines replies");
}

constexpr auto kDetectorModel = FIELD(HallucinationDetector, model);

constexpr Key kDetectorKeys[] = {
    string(FIELD(HallucinationDetector, backend),
           "`candle`, a model here, or `endpoint`, the language model `model_id` on a server.")
        .then<check_detector_backend>(),
    string(FIELD(HallucinationDetector, endpoint),
           "URL of OpenAI's API, for `endpoint`, such as `http://10.0.0.5:8000/v1`."),
    boolean(FIELD(HallucinationDetector, include_explanation), "Explain each span, for `endpoint`.")
        .not_built("spans have no explanation"),
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
    object(FIELD(HallucinationMitigation, fact_check), kFactCheck, "Finds questions of fact."),
    object(FIELD(HallucinationMitigation, detector), kDetector, "Finds unsupported spans."),
    object(FIELD(HallucinationMitigation, explainer), kPlainClassifier,
           "NLI model: whether sentences follow from the context."),
};
constexpr Section kMitigation{kMitigationKeys};

constexpr auto kComplexityBackendKeys =
    backend_keys(kClassProtocol, "label_distribution.v1 label_distribution score.v1 score");

void check_complexity_backend(Reader& reader, const yaml::Node& node, ClassifierModel& server) {
  if (!server.contract.empty()) return;
  reader.error(node.line,
               "expected the contract label_distribution.v1, whose labels are easy, medium and "
               "hard, or score.v1");
}
constexpr Section kComplexityBackend{kComplexityBackendKeys, checked<check_complexity_backend>};

constexpr Key kComplexityModuleKeys[] = {
    object(FIELD(ComplexityModule, prototype_scoring), kPrototypeScoring, kScoreFromExamples),
    object(FIELD_AS("backend", ComplexityModule, server), kComplexityBackend,
           "A server that rates the requests, in place of examples."),
};
constexpr Section kComplexityModule{kComplexityModuleKeys};

constexpr Key kSafetyModuleKeys[] = {
    object(FIELD(Modules, safety), kPlainClassifier, "Model with the classes `safe` and `unsafe`."),
    unread("hazard", "Model of kinds of hazards.", "signals match by the class `unsafe` alone"),
};
constexpr Section kSafetyModule{kSafetyModuleKeys};

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
    object(same<Modules>("safety"), kSafetyModule, "Risky content."),
};

constexpr std::string_view kModulesPath = "global.model_catalog.modules.";

/// A task that a server may do.
struct TaskOfServer {
  std::string_view name, path;           // below kModulesPath
  std::string_view role;                 // of the model on a server, if the module names none
  std::string_view naming = "model_id";  // the module's key that names a model
};
constexpr TaskOfServer kTasksOfServers[] = {
    {"jailbreak", "prompt_guard", "guardrail"},
    {"pii", "classifier.pii", "pii"},
    {"domain", "classifier.domain", "classification"},
    {"fact_check", "hallucination_mitigation.fact_check", "classification"},
    {"user_feedback", "feedback_detector", "classification"},
    {"modality", "modality_detector.classifier", "classification", "model_path"},
    {"complexity", "complexity", "classification"},
};

const ExternalModel* find_server(const Config& config, const ClassifierModel& module,
                                 std::string_view role) {
  const ExternalModel* out = nullptr;
  size_t count = 0;
  const std::string& name = module.server.empty() ? module.model_id : module.server;
  for (const ExternalModel& each : config.external_models) {
    if (!name.empty() && each.name == name) return &each;
    if (!ascii::iequals(each.model_role, role)) continue;
    out = &each;
    ++count;
  }
  return module.server.empty() && count == 1 ? out : nullptr;
}

/// The module if it calls a server.
const ClassifierModel* caller(const Modules& modules, std::string_view task) {
  const ClassifierModel* module = module_of(modules, task);
  const ModalityDetection& detection = modules.modality_detector;
  const bool is_off = task == "modality" && (!detection.enabled || detection.method == "keyword");
  return module->enabled && module->calls_server() && !is_off ? module : nullptr;
}

/// The task before this one that the same server does. Null: there is none.
const TaskOfServer* earlier_task(const Config& config, const TaskOfServer& task,
                                 const ExternalModel& server) {
  for (const TaskOfServer& each : kTasksOfServers) {
    if (&each == &task) return nullptr;
    if (server_of(config, each.name) == &server) return &each;
  }
  return nullptr;
}

std::string complaint_about(const Config& config, const TaskOfServer& task,
                            const ClassifierModel& module) {
  constexpr std::string_view kList = "global.model_catalog.external";
  const ExternalModel* server = server_of(config, task.name);
  if (server == nullptr && !module.server.empty())
    return fmt::format("there is no model \"{}\" in {}", module.server, kList);
  if (server == nullptr)
    return fmt::format(
        "{} requires one model of {} with model_role: {}; if there are several, {} names the one "
        "to call",
        module.variant, kList, task.role, task.naming);
  if (server->llm_endpoint.address.empty())
    return fmt::format("the model \"{}\" of {} has no llm_endpoint.address", server->name, kList);
  if (module.variant == kHttpChat && server->llm_model_name.empty())
    return fmt::format("the model \"{}\" of {} has no llm_model_name, and http_chat requires one",
                       server->name, kList);
  if (const TaskOfServer* other = earlier_task(config, task, *server))
    return fmt::format("the model \"{}\" of {} is also that of {}; expected one of its own",
                       server->name, kList, other->path);
  return "";
}

}  // namespace

constinit const Section kModules{kModulesKeys};
constinit const Section kModalityClassifier{kModalityClassifierKeys};

const ClassifierModel* module_of(const Modules& modules, std::string_view task) {
  if (task == "jailbreak") return &modules.prompt_guard;
  if (task == "pii") return &modules.classifier.pii;
  if (task == "domain") return &modules.classifier.domain;
  if (task == "fact_check") return &modules.hallucination_mitigation.fact_check;
  if (task == "user_feedback") return &modules.feedback_detector;
  if (task == "modality") return &modules.modality_detector.classifier;
  if (task == "complexity") return &modules.complexity.server;
  return nullptr;
}

const ExternalModel* server_of(const Config& config, std::string_view task) {
  const auto found = std::ranges::find(kTasksOfServers, task, &TaskOfServer::name);
  if (found == std::end(kTasksOfServers)) return nullptr;
  const ClassifierModel* module = caller(config.modules, task);
  return module == nullptr ? nullptr : find_server(config, *module, found->role);
}

std::span<const std::string_view> tasks_of_servers() {
  static constexpr auto kTasks = [] {
    std::array<std::string_view, std::size(kTasksOfServers)> out{};
    std::ranges::transform(kTasksOfServers, out.begin(), &TaskOfServer::name);
    return out;
  }();
  return kTasks;
}

// A module that should call a server and cannot would decide nothing, in silence.
void check_modules_on_servers(Reader& reader, const yaml::Node& root, const Config& config) {
  for (const TaskOfServer& task : kTasksOfServers) {
    const ClassifierModel* module = caller(config.modules, task.name);
    if (module == nullptr) continue;
    const std::string complaint = complaint_about(config, task, *module);
    if (complaint.empty()) continue;
    const std::string path = fmt::format("{}{}", kModulesPath, task.path);
    const yaml::Node* at = yaml::tree::find_path(root, path);
    reader.at_key(path, [&] { reader.error(at == nullptr ? root.line : at->line, complaint); });
  }
}

}  // namespace signalbox::config
