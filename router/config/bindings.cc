// `deployments` and `bindings` of newer files: where a model of the router runs, and the task that
// it has. They become the settings of the task's module, so nothing else reads them.

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "router/config/load.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// --- deployments ---

/// A server that the Semantic Router calls by a protocol of its own.
bool is_remote_runtime(const ModelDeployment& deployment) {
  return deployment.provider == "model_runtime" && deployment.artifact.empty() &&
         !deployment.endpoint.empty();
}

constexpr std::string_view kWindows = "long texts are read in windows";
constexpr std::string_view kForOthers = "it is for other engines";
constexpr std::string_view kCallsNone = "the router calls no such server";

void check_deployment(Reader& reader, const yaml::Node& node, ModelDeployment& out) {
  out.line = node.line;
  if (out.provider.empty()) return;
  if (is_remote_runtime(out) && out.external_model.empty()) return;
  const bool is_here = out.provider != "http";
  if (is_here == !out.artifact.empty() && is_here == out.external_model.empty()) return;
  reader.error(node.line,
               is_here ? "expected artifact and no external_model, because the provider is not http"
                       : "expected external_model and no artifact, because the provider is http");
}

constexpr Key kDeploymentKeys[] = {
    word(FIELD(ModelDeployment, provider), "candle ort openvino model_runtime http",
         "`http`, a server; with the others, the router runs the model.")
        .required(),
    text(FIELD(ModelDeployment, artifact),
         "Model directory. With `provider: model_runtime` also `OWNER/NAME` of the Hugging Face "
         "hub, which is `models/NAME`."),
    text(FIELD(ModelDeployment, external_model), "One of `external`, with `provider: http`."),
    unread("revision", "Version of the files.", "the directory is used as it is"),
    unread("device", "Device.", kRunsOnProcessor).unless("cpu auto"),
    unread("precision", "Form of the numbers.", kForOthers).unless("native fp32"),
    unread("profile", "Form of the numbers.", kForOthers).unless("exact"),
    unread("input", "Greatest length of a text.", kWindows),
    text(FIELD(ModelDeployment, endpoint), "Server of the Semantic Router's models.")
        .no_effect(kCallsNone),
    unread("process", "Group of models.", kCallsNone),
    unread("served_name", "Name of the model there.", kCallsNone),
    unread("public_name", "Name of the model for clients.", "no client calls the model"),
    unread("custom_ops_profile", "Parts of an engine.", kForOthers),
    unread("compilation_cache_dir", "Folder of an engine.", kForOthers),
};

// --- bindings ---

void check_binding(Reader&, const yaml::Node& node, ModelBinding& out) {
  out.line = node.line;
}

void check_operating_point(Reader& reader, const yaml::Node& node, OperatingPoint& point) {
  point.sha256 = ascii::lower_case(point.sha256);
  constexpr size_t kDigits = 64;
  const yaml::Node* const value = node.find("sha256");
  if (value == nullptr || (point.sha256.size() == kDigits &&
                           point.sha256.find_first_not_of("0123456789abcdef") == std::string::npos))
    return;
  reader.at_key("sha256", [&] { reader.expected(*value, "64 hexadecimal digits"); });
}

constexpr Key kOperatingPointKeys[] = {
    text(FIELD(OperatingPoint, path),
         "JSON file with the threshold of each label, in the model directory. Default: "
         "`operating_point.json`."),
    text(FIELD(OperatingPoint, sha256),
         "SHA-256 of the file; another file is an error. Default: any file."),
};
constexpr Section kOperatingPoint{kOperatingPointKeys, checked<check_operating_point>};

constexpr Key kBindingKeys[] = {
    text(FIELD(ModelBinding, deployment), "One of `global.model_catalog.deployments`.").required(),
    text(FIELD(ModelBinding, contract), "Form of the results.").required(),
    string(FIELD(ModelBinding, adapter),
           "`http_classify` or `http_chat` for a server. `config.json` of a model directory "
           "selects the kind of model."),
    string(FIELD(ModelBinding, head), "Head outside the model directory."),
    string(FIELD(ModelBinding, mapping_path), "JSON file of the classes by number."),
    unread("pair_scorer", "Part of a reranker.", "the whole model scores"),
    object(FIELD(ModelBinding, operating_point), kOperatingPoint,
           "Thresholds of the labels, for the contract `label_scores.v1` of `classifier.NAME`."),
};

// --- what they mean ---

/// A task with one model for the whole file. Without `model`, the task has settings of its own.
struct Task {
  std::string_view name, contracts, module;
  ClassifierModel* (*model)(Modules&) = nullptr;
};
constexpr std::string_view kReranker = "rag.reranker";
constexpr std::string_view kLabelDistribution = "label_distribution.v1";
constexpr std::string_view kLabelScores = "label_scores.v1";
constexpr Task kTasks[] = {
    {"domain_classifier", kLabelDistribution, "classifier.domain",
     [](Modules& m) { return &m.classifier.domain; }},
    {"pii_classifier", "token_spans.v1", "classifier.pii",
     [](Modules& m) { return &m.classifier.pii; }},
    {"prompt_guard", "label_distribution.v1 label_decision.v1", "prompt_guard",
     [](Modules& m) { return &m.prompt_guard; }},
    {"feedback_detector", kLabelDistribution, "feedback_detector",
     [](Modules& m) { return &m.feedback_detector; }},
    {"fact_check_classifier", kLabelDistribution, "hallucination_mitigation.fact_check",
     [](Modules& m) { return &m.hallucination_mitigation.fact_check; }},
    {"modality_detector", kLabelDistribution, "modality_detector.classifier",
     [](Modules& m) { return &m.modality_detector.classifier; }},
    {"hallucination_detector", "token_spans.v1", "hallucination_mitigation.detector",
     [](Modules& m) { return &m.hallucination_mitigation.detector.model; }},
    {"hallucination_explainer", "text_pair_distribution.v1", "hallucination_mitigation.explainer",
     [](Modules& m) { return &m.hallucination_mitigation.explainer; }},
    {"embedding", "embedding.v1", ""},
    {kReranker, "relevance_scores.v1", ""},
};
constexpr std::string_view kClassifierPrefix = "classifier.";

bool is_server(const ModelDeployment& deployment) {
  return deployment.provider == "http";
}

// `signalbox models pull hf:OWNER/NAME` puts a model into models/NAME.
std::string directory_of(const ModelDeployment& deployment) {
  const std::string& artifact = deployment.artifact;
  const size_t slash = artifact.find('/');
  const bool is_of_hub = deployment.provider == "model_runtime" && slash != std::string::npos &&
                         slash > 0 && artifact[0] != '.' && artifact.rfind('/') == slash &&
                         !artifact.starts_with("models/");
  return is_of_hub ? "models" + artifact.substr(slash) : artifact;
}

/// One file's bindings while they are applied. Errors are reported at the binding.
class Binder {
 public:
  Binder(Reader& reader, Config& config) : reader_(reader), config_(config) {}

  void apply_all() {
    apply(config_.bindings, "global.model_catalog.bindings", nullptr);
    apply(config_.routing.model_bindings, "routing.model_bindings", &config_.routing);
    for (size_t i = 0; i < config_.recipes.size(); ++i) {
      Routing& routing = config_.recipes[i].routing;
      apply(routing.model_bindings, fmt::format("recipes[{}].routing.model_bindings", i), &routing);
    }
  }

 private:
  using Bindings = std::map<std::string, ModelBinding>;

  void apply(const Bindings& bindings, std::string_view path, Routing* routing) {
    for (const auto& [name, binding] : bindings) {
      reader_.at_key(fmt::format("{}.{}", path, name), [&, &task = name, &each = binding] {
        const std::string why = bind(task, each, routing);
        if (!why.empty()) reader_.error(each.line, why);
      });
    }
  }

  // Returns an error, or "".
  std::string bind(const std::string& name, const ModelBinding& binding, Routing* routing) {
    if (binding.deployment.empty() || binding.contract.empty()) return "";
    const auto found = config_.deployments.find(binding.deployment);
    if (found == config_.deployments.end()) {
      std::vector<std::string_view> known;
      for (const auto& [each, deployment] : config_.deployments) known.push_back(each);
      return fmt::format("unknown deployment \"{}\"{}", binding.deployment,
                         suggestion(binding.deployment, known));
    }
    const ModelDeployment& deployment = found->second;
    if (is_remote_runtime(deployment))
      return "a server of the provider model_runtime is not built; expected an artifact, or the "
             "provider http";
    if (std::string why = check_server(deployment); !why.empty()) return why;
    if (binding.operating_point && binding.contract != kLabelScores)
      return fmt::format("operating_point: expected the contract {}, found \"{}\"", kLabelScores,
                         binding.contract);
    if (!binding.head.empty()) return "head is not built; the model directory must have the head";
    if (name.starts_with(kClassifierPrefix))
      return bind_classifier(name.substr(kClassifierPrefix.size()), binding, deployment, routing);
    const Task* task = std::ranges::find(kTasks, name, &Task::name);
    if (task == std::end(kTasks)) {
      std::vector<std::string_view> known{"classifier.NAME"};
      for (const Task& each : kTasks) known.push_back(each.name);
      return fmt::format("no model has this task{}", suggestion(name, known));
    }
    // A binding of the file is the one for clients, so that of a routing leaves it alone.
    const bool is_shared =
        routing == nullptr ||
        (is_everywhere(name, binding) && !(name == kReranker && config_.bindings.contains(name)));
    if (!is_shared && name != kReranker)
      return "the routings of a file share one model for each task; expected the same binding in "
             "each, or one in global.model_catalog.bindings";
    if (std::string why = check_contract(*task, binding); !why.empty()) return why;
    return task->model == nullptr ? bind_other(*task, deployment, is_shared ? nullptr : routing)
                                  : bind_module(*task, binding, deployment);
  }

  std::string check_server(const ModelDeployment& deployment) const {
    if (!is_server(deployment)) return "";
    std::vector<std::string_view> known;
    for (const ExternalModel& each : config_.external_models) known.push_back(each.name);
    if (std::ranges::find(known, deployment.external_model) != known.end()) return "";
    return fmt::format("unknown external_model \"{}\" of the deployment{}",
                       deployment.external_model, suggestion(deployment.external_model, known));
  }

  static std::string check_contract(const Task& task, const ModelBinding& binding) {
    const auto allowed = split_words(task.contracts);
    if (std::ranges::find(allowed, binding.contract) != allowed.end()) return "";
    return fmt::format("expected the contract {}, found \"{}\"", fmt::join(allowed, " or "),
                       binding.contract);
  }

  // True if every routing with decisions has this model for the task.
  bool is_everywhere(const std::string& name, const ModelBinding& binding) const {
    return std::ranges::all_of(routings_of(config_), [&](const Routing* routing) {
      if (routing->decisions.empty()) return true;
      const auto own = routing->model_bindings.find(name);
      if (own != routing->model_bindings.end()) return own->second == binding;
      const auto shared = config_.bindings.find(name);
      return shared != config_.bindings.end() && shared->second == binding;
    });
  }

  std::string bind_module(const Task& task, const ModelBinding& binding,
                          const ModelDeployment& deployment) {
    const bool has_server = is_server(deployment);
    if (std::string why = has_server ? refuse_server(task, binding) : ""; !why.empty()) return why;
    ClassifierModel& model = *task.model(config_.modules);
    if (!binding.mapping_path.empty()) model.mapping_path = binding.mapping_path;
    model.model_ref.clear();
    if (has_server) {
      bind_server(binding, deployment, model);
    } else {
      bind_directory(task, deployment, model);
    }
    return "";
  }

  // Returns an error, or "".
  static std::string refuse_server(const Task& task, const ModelBinding& binding) {
    if (task.name.starts_with("hallucination"))
      return "a server for this task is not built as a deployment; `backend: endpoint` of "
             "global.model_catalog.modules.hallucination_mitigation.detector calls one";
    const bool may_chat = task.name == "prompt_guard";
    const bool is_chat = binding.adapter == kHttpChat;
    if (binding.adapter != kHttpClassify && !(may_chat && is_chat))
      return fmt::format("expected the adapter http_classify{}, found \"{}\"",
                         may_chat ? " or http_chat" : "", binding.adapter);
    if (may_chat && is_chat != (binding.contract == kLabelDecision))
      return "http_chat has the contract label_decision.v1, and http_classify "
             "label_distribution.v1";
    return "";
  }

  static void bind_server(const ModelBinding& binding, const ModelDeployment& deployment,
                          ClassifierModel& model) {
    model.model_id.clear();
    model.variant = binding.adapter;
    model.server = deployment.external_model;
    model.contract = binding.contract;
  }

  void bind_directory(const Task& task, const ModelDeployment& deployment, ClassifierModel& model) {
    model.variant.clear();
    model.server.clear();
    model.model_id = directory_of(deployment);
    if (task.name == "hallucination_detector")
      config_.modules.hallucination_mitigation.detector.backend.clear();
    const std::string_view key = task.name == "modality_detector" ? "model_path" : "model_id";
    config_.catalog_lines[fmt::format("global.model_catalog.modules.{}.{}", task.module, key)] =
        deployment.line;
  }

  std::string bind_other(const Task& task, const ModelDeployment& deployment, Routing* routing) {
    if (is_server(deployment))
      return fmt::format("a server for this task is not built as a deployment{}",
                         task.name == "embedding"
                             ? "; global.model_catalog.embeddings.semantic.endpoint calls one"
                             : "");
    if (task.name == kReranker) {
      (routing == nullptr ? config_.system_models.reranker : routing->reranker) =
          directory_of(deployment);
      return "";
    }
    bind_embedder(deployment);
    return "";
  }

  // As with mmbert_model_path, the usual model takes the place of one that does not exist.
  void bind_embedder(const ModelDeployment& deployment) {
    EmbeddingModel& model = config_.embedding_model;
    model.endpoint.reset();
    const std::string directory = directory_of(deployment);
    if (!use_embedder(reader_, deployment.line, directory, "mmbert_model_path", model)) return;
    config_.catalog_lines["global.model_catalog.embeddings.semantic.mmbert_model_path"] =
        deployment.line;
  }

  std::string bind_classifier(const std::string& name, const ModelBinding& binding,
                              const ModelDeployment& deployment, Routing* routing) {
    const bool is_independent = binding.contract == kLabelScores;
    if (!is_independent && binding.contract != kLabelDistribution)
      return fmt::format("expected the contract {} or {}, found \"{}\"", kLabelDistribution,
                         kLabelScores, binding.contract);
    if (is_independent && is_server(deployment))
      return "a server with the contract label_scores.v1 is not built";
    if (!binding.mapping_path.empty())
      return "mapping_path is not built for this task; the model names its classes";
    if (is_server(deployment) && binding.adapter != kHttpClassify && binding.adapter != kHttpChat)
      return fmt::format("expected the adapter http_classify or http_chat, found \"{}\"",
                         binding.adapter);
    bool is_there = false;
    const auto set = [&](Routing& each) {
      const auto signal = std::ranges::find(each.classifiers, name, &ClassifierSignal::name);
      if (signal == each.classifiers.end()) return;
      is_there = true;
      signal->operating_point.reset();  // a binding of the file may have set one
      if (!is_server(deployment)) {
        signal->type = ClassifierSignal::Type::kLocal;
        signal->model_path = directory_of(deployment);
        signal->line = deployment.line;
        if (is_independent)
          signal->operating_point = binding.operating_point.value_or(OperatingPoint{});
        return;
      }
      signal->type = binding.adapter == kHttpChat ? ClassifierSignal::Type::kLlm
                                                  : ClassifierSignal::Type::kHttp;
      signal->model = deployment.external_model;
    };
    if (routing != nullptr) {
      set(*routing);
    } else {
      set(config_.routing);
      for (Recipe& recipe : config_.recipes) set(recipe.routing);
    }
    return is_there ? "" : fmt::format("there is no classifier signal \"{}\"", name);
  }

  Reader& reader_;
  Config& config_;
};

}  // namespace

constinit const Section kDeployment{kDeploymentKeys, checked<check_deployment>};
constinit const Section kBinding{kBindingKeys, checked<check_binding>};

bool is_bound(const Config& config, const Routing* routing, std::string_view classifier) {
  const std::string name = fmt::format("{}{}", kClassifierPrefix, classifier);
  return config.bindings.contains(name) ||
         (routing != nullptr && routing->model_bindings.contains(name));
}

void apply_bindings(Reader& reader, Config& config) {
  Binder(reader, config).apply_all();
}

}  // namespace signalbox::config
