// Which models a configuration's signals ask for, and where they lie.

#include "router/models.h"

#include <algorithm>
#include <filesystem>

namespace signalbox::router {
namespace {

bool asks(const config::Rule& rule, std::string_view type) {
  if (rule.op == config::Rule::Operator::kLeaf && rule.type == type) return true;
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const config::Rule& each) { return asks(each, type); });
}

std::string system_model(const config::SystemModels& models, std::string_view ref) {
  const std::pair<std::string_view, const std::string*> known[] = {
      {"prompt_guard", &models.prompt_guard},
      {"domain_classifier", &models.domain_classifier},
      {"pii_classifier", &models.pii_classifier},
      {"fact_check_classifier", &models.fact_check_classifier},
      {"feedback_detector", &models.feedback_detector},
      {"hallucination_explainer", &models.hallucination_explainer},
  };
  for (const auto& [name, directory] : known) {
    if (name == ref) return *directory;
  }
  return "";
}

std::string directory_of(const config::Config& config, const config::ClassifierModel& model,
                         std::string_view default_ref) {
  if (!model.enabled) return "";
  if (!model.model_ref.empty()) {
    std::string directory = system_model(config.system_models, model.model_ref);
    if (!directory.empty()) return directory;
  }
  return model.model_id.empty() ? system_model(config.system_models, default_ref) : model.model_id;
}

}  // namespace

bool asks_for(const config::Routing& routing, std::string_view type) {
  for (const config::Decision& decision : routing.decisions) {
    if (asks(decision.rules, type)) return true;
  }
  for (const config::ComplexitySignal& signal : routing.complexity) {
    if (signal.composer && asks(*signal.composer, type)) return true;
  }
  for (const config::Score& score : routing.projections.scores) {
    for (const config::ScoreInput& input : score.inputs) {
      if (input.type == type) return true;
    }
  }
  return false;
}

std::string classifier_directory(const config::Config& config, std::string_view type) {
  const config::Modules& modules = config.modules;
  if (type == "domain") return directory_of(config, modules.classifier.domain, "domain_classifier");
  if (type == "fact_check") {
    return directory_of(config, modules.hallucination_mitigation.fact_check,
                        "fact_check_classifier");
  }
  if (type == "user_feedback")
    return directory_of(config, modules.feedback_detector, "feedback_detector");
  if (type == "jailbreak") return directory_of(config, modules.prompt_guard, "prompt_guard");
  if (type == "pii") return directory_of(config, modules.classifier.pii, "pii_classifier");
  if (type == "nli") {
    return directory_of(config, modules.hallucination_mitigation.explainer,
                        "hallucination_explainer");
  }
  if (type == "modality" && modules.modality_detector.enabled &&
      modules.modality_detector.method != "keyword")
    return modules.modality_detector.classifier.model_path;
  return "";
}

bool needs_embedder(const config::Routing& r) {
  const bool contrastive =
      std::any_of(r.jailbreak.begin(), r.jailbreak.end(), [](const auto& signal) {
        return signal.method != config::JailbreakSignal::Method::kClassifier &&
               !signal.jailbreak_patterns.empty();
      });
  return contrastive || !r.embeddings.empty() || !r.intents.empty() || !r.complexity.empty() ||
         !r.reasks.empty() || !r.preferences.empty() || !r.kb.empty() || asks_for(r, "kb_metric");
}

std::vector<std::string> classifier_directories(const config::Config& config,
                                                const config::Routing& routing) {
  std::vector<std::string> out;
  const auto add = [&](bool asked, const std::string& directory) {
    if (!asked || directory.empty()) return;
    if (std::find(out.begin(), out.end(), directory) == out.end()) out.push_back(directory);
  };
  const auto add_type = [&](std::string_view type, bool configured) {
    add(configured || asks_for(routing, type), classifier_directory(config, type));
  };
  add_type("domain", !routing.domains.empty());
  add_type("fact_check", !routing.fact_check.empty());
  add_type("user_feedback", !routing.user_feedbacks.empty());
  add_type("modality", !routing.modality.empty());
  add_type("pii", !routing.pii.empty());
  for (const config::JailbreakSignal& signal : routing.jailbreak) {
    add(signal.method != config::JailbreakSignal::Method::kContrastive,
        classifier_directory(config, "jailbreak"));
  }
  for (const config::ClassifierSignal& signal : routing.classifiers)
    add(signal.type == config::ClassifierSignal::Type::kLocal, signal.model_path);
  return out;
}

Result<Models> open_models(const config::Config& config, std::shared_ptr<ModelCache> cache) {
  namespace fs = std::filesystem;
  Models models;
  std::error_code ignored;
  const std::string& path = config.embedding_model.path;
  const bool must = !config.routing.embeddings.empty();
  if (needs_embedder(config.routing) && (must || fs::exists(path, ignored))) {
    SIGNALBOX_TRY(models.embedder, cache->get(path));
  }
  for (const std::string& directory : classifier_directories(config, config.routing)) {
    if (!fs::exists(directory, ignored)) continue;
    SIGNALBOX_TRY(auto model, cache->get(directory));
    models.classifiers.emplace(directory, std::move(model));
  }
  models.open = [cache](const std::string& directory) { return cache->get(directory); };
  return models;
}

Result<Models> open_models(const config::Config& config) {
  return open_models(config, std::make_shared<ModelCache>());
}

}  // namespace signalbox::router
