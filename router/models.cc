// Which models a configuration's signals ask for, and where they lie.

#include "router/models.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "engine/model_path.h"
#include "engine/served_model.h"
#include "router/plugins/pii_policy.h"
#include "router/selection/factory.h"

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
    for (const config::DifficultyCase& each : decision.difficulty) {
      if (asks(each.when, type)) return true;
    }
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
  const auto& decisions = r.decisions;
  const bool compares_cards =
      std::any_of(decisions.begin(), decisions.end(), [](const config::Decision& decision) {
        return decision.model_refs.size() > 1 &&
               selection::compares_meanings(decision.algorithm.type);
      });
  return contrastive || compares_cards || !r.embeddings.empty() || !r.intents.empty() ||
         !r.complexity.empty() || !r.reasks.empty() || !r.preferences.empty() || !r.kb.empty() ||
         asks_for(r, "kb_metric");
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
  const auto& models = config.providers.models;
  add_type("pii", !routing.pii.empty() || std::any_of(models.begin(), models.end(), restricts));
  for (const config::JailbreakSignal& signal : routing.jailbreak) {
    add(signal.method != config::JailbreakSignal::Method::kContrastive,
        classifier_directory(config, "jailbreak"));
  }
  for (const config::ClassifierSignal& signal : routing.classifiers)
    add(signal.type == config::ClassifierSignal::Type::kLocal, signal.model_path);
  return out;
}

Result<std::shared_ptr<const engine::TextModel>> open_model(const std::string& directory) {
  SIGNALBOX_TRY(std::shared_ptr<const engine::TextModel> model, engine::TextModel::open(directory));
  return model;
}

Result<Models> open_models(const config::Config& config, const OpenModel& open) {
  namespace fs = std::filesystem;
  Models models;
  std::map<fs::path, std::shared_ptr<const engine::TextModel>>
      opened;  // an adapter's heads are one
  const auto open_once =
      [&](const std::string& path) -> Result<std::shared_ptr<const engine::TextModel>> {
    SIGNALBOX_TRY(const engine::ModelPath place, engine::find_model(path));
    auto& model = opened[place.model()];
    if (model == nullptr) {
      SIGNALBOX_TRY(model, open(path));
    }
    return model;
  };
  std::error_code ignored;
  const std::string& path = config.embedding_model.path;
  for (const config::Routing* routing : config::routings_of(config)) {
    const bool must = !routing->embeddings.empty();
    if (models.embedder == nullptr && needs_embedder(*routing) &&
        (must || fs::exists(path, ignored))) {
      SIGNALBOX_TRY(models.embedder, open_once(path));
    }
    for (const std::string& directory : classifier_directories(config, *routing)) {
      if (models.classifiers.contains(directory) || !fs::exists(directory, ignored)) continue;
      SIGNALBOX_TRY(models.classifiers[directory], open_once(directory));
    }
  }
  models.open = open;
  return models;
}

OpenModel open_served(const config::HttpLimits& limits) {
  const uint32_t asked = limits.model_threads;
  const uint32_t threads = asked != 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
  engine::SchedulerOptions options;
  options.workers = std::min(static_cast<int32_t>(threads), engine::kThreadsMax);
  options.requests_max = static_cast<int32_t>(limits.model_queue_max);
  return
      [options](const std::string& directory) -> Result<std::shared_ptr<const engine::TextModel>> {
        SIGNALBOX_TRY(auto model, open_model(directory));
        engine::SchedulerOptions own = options;
        own.tokens_max = std::max<int64_t>(own.tokens_max, model->tokens_max());
        return engine::serve(std::move(model), own);
      };
}

}  // namespace signalbox::router
