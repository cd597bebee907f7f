// Finds the models that a configuration's signals and plugins use, and opens them.

#include "router/models/models.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "engine/discover.h"
#include "engine/model_path.h"
#include "router/models/remote_detector.h"
#include "router/models/remote_embedder.h"
#include "router/models/remote_guard.h"
#include "router/models/servers.h"
#include "router/models/shaped_embedder.h"
#include "router/models/stand_ins.h"
#include "router/routing/selection/factory.h"
#include "router/routing/selection/pii_policy.h"
#include "weights/manifest_places.h"

namespace signalbox::models {
namespace {

using Condition = std::function<bool(std::string_view type, std::string_view name)>;

// The name of a custom classifier's class is NAME:LABEL.
bool holds(const config::Rule& rule, const Condition& condition) {
  const std::string name =
      rule.label.empty() ? rule.name : fmt::format("{}:{}", rule.name, rule.label);
  if (rule.op == config::Rule::Operator::kLeaf && condition(rule.type, name)) return true;
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const config::Rule& each) { return holds(each, condition); });
}

// Returns whether `condition` holds for a condition of a decision, or of a difficulty case, a
// composer or a score that decisions may use.
bool any_condition(const config::Routing& routing, const Condition& condition) {
  for (const config::Decision& decision : routing.decisions) {
    if (holds(decision.rules, condition)) return true;
    for (const config::DifficultyCase& each : decision.difficulty) {
      if (holds(each.when, condition)) return true;
    }
  }
  for (const config::ComplexitySignal& signal : routing.complexity) {
    if (signal.composer && holds(*signal.composer, condition)) return true;
  }
  for (const config::Score& score : routing.projections.scores) {
    for (const config::ScoreInput& input : score.inputs) {
      if (condition(input.type, input.name)) return true;
    }
  }
  return false;
}

/// A model directory and the configuration key that names it.
struct ConfiguredDirectory {
  std::string directory;
  std::string key;
};

bool is_contrastive(const config::JailbreakSignal& signal) {
  return signal.method != config::JailbreakSignal::Method::kClassifier &&
         !signal.jailbreak_patterns.empty();
}

bool compares_cards(const config::Decision& decision) {
  return decision.model_refs.size() > 1 && selection::compares_meanings(decision.algorithm.type);
}

bool is_there(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory, ignored);
}

std::string system_model(const config::SystemModels& models, std::string_view ref) {
  const std::pair<std::string_view, const std::string*> known[] = {
      {"prompt_guard", &models.prompt_guard},
      {"domain_classifier", &models.domain_classifier},
      {"pii_classifier", &models.pii_classifier},
      {"fact_check_classifier", &models.fact_check_classifier},
      {"feedback_detector", &models.feedback_detector},
      {"hallucination_detector", &models.hallucination_detector},
      {"hallucination_explainer", &models.hallucination_explainer},
      {"safety", &models.safety},
  };
  for (const auto& [name, directory] : known) {
    if (name == ref) return *directory;
  }
  return "";
}

ConfiguredDirectory directory_of_module(const config::Config& config, std::string_view module,
                                        const config::ClassifierModel& model,
                                        std::string_view default_ref) {
  if (!model.enabled) return {};
  const auto of_system = [&](std::string_view ref) {
    return ConfiguredDirectory{system_model(config.system_models, ref),
                               fmt::format("global.model_catalog.system.{}", ref)};
  };
  if (!model.model_ref.empty()) {
    ConfiguredDirectory found = of_system(model.model_ref);
    if (!found.directory.empty()) return found;
  }
  if (model.model_id.empty()) return of_system(default_ref);
  return {model.model_id, fmt::format("global.model_catalog.modules.{}.model_id", module)};
}

constexpr const char* kModelsDirectory = "models";

// Returns the classifier that is found by its name if the file leaves the choice to the program and
// the default directory does not exist.
ConfiguredDirectory discovered(ConfiguredDirectory configured, std::string_view task,
                               const std::string& by_default) {
  if (configured.directory != by_default || is_there(configured.directory)) return configured;
  const auto listing = engine::list_models(kModelsDirectory);
  const auto found = listing ? engine::discover_classifier(task, *listing) : engine::Discovery{};
  if (found.choice)
    configured.directory = fmt::format("{}/{}", kModelsDirectory, found.choice->directory);
  return configured;
}

ConfiguredDirectory classifier_of(const config::Config& config, std::string_view type) {
  const config::Modules& m = config.modules;
  const auto by = [&](std::string_view module, const config::ClassifierModel& model,
                      std::string_view default_ref) {
    return directory_of_module(config, module, model, default_ref);
  };
  if (const auto* server = config::server_of(config, type))
    return {remote_guard_name(type, *server), "global.model_catalog.external"};
  if (type == "domain") return by("classifier.domain", m.classifier.domain, "domain_classifier");
  if (type == "pii") return by("classifier.pii", m.classifier.pii, "pii_classifier");
  if (type == "jailbreak") {
    return discovered(by("prompt_guard", m.prompt_guard, "prompt_guard"), type,
                      config::SystemModels{}.prompt_guard);
  }
  if (type == "safety") return by("safety.safety", m.safety, "safety");
  if (type == "user_feedback")
    return by("feedback_detector", m.feedback_detector, "feedback_detector");
  if (type == "fact_check") {
    return by("hallucination_mitigation.fact_check", m.hallucination_mitigation.fact_check,
              "fact_check_classifier");
  }
  if (type == "hallucination") {
    if (const auto detector = detector_server(config))
      return {remote_guard_name(type, *detector),
              "global.model_catalog.modules.hallucination_mitigation.detector.endpoint"};
    return by("hallucination_mitigation.detector", m.hallucination_mitigation.detector.model,
              "hallucination_detector");
  }
  if (type == "nli") {
    return by("hallucination_mitigation.explainer", m.hallucination_mitigation.explainer,
              "hallucination_explainer");
  }
  const config::ModalityDetection& modality = m.modality_detector;
  if (type == "modality" && modality.enabled && modality.method != "keyword") {
    return {modality.classifier.model_id,
            "global.model_catalog.modules.modality_detector.classifier.model_path"};
  }
  return {};
}

bool compares_documents(const config::Decision& decision) {
  return decision.rag && decision.rag->enabled && decision.missing_plugins.empty() &&
         config::compares_vectors(*decision.rag);
}

bool reranks_documents(const config::Decision& decision) {
  return decision.rag && decision.rag->enabled && decision.rag->rerank &&
         decision.missing_plugins.empty();
}

bool compares_memories(const config::Config& config, const config::Routing& routing) {
  return std::ranges::any_of(routing.decisions, [&](const config::Decision& decision) {
    return config::memory_of(config.memory, decision) != nullptr &&
           decision.missing_plugins.empty();
  });
}

/// True if something about the routing compares texts by their embeddings.
bool compares_texts(const config::Config& config, const config::Routing& routing) {
  return needs_embedder(config, routing) || selects_tools(config, routing) ||
         compares_memories(config, routing) || config::is_served(config.vector_store);
}

// Such a decision compares questions for its response cache, which works with exact matches if
// there is no embedder.
bool has_semantic_cache(const config::Decision& decision) {
  const std::optional<config::ResponseCachePlugin>& cache = decision.response_cache;
  return cache && cache->enabled && cache->mode != config::ResponseCachePlugin::Mode::kExact;
}

// Such a decision compares answers, which a judge may do instead.
bool compares_shadows(const config::Decision& decision) {
  const auto& plugin = decision.shadow_dispatch;
  return plugin && plugin->is_on() && plugin->comparison.judge.empty();
}

// Returns whether a decision depends on similarities of meaning.
bool depends_on_embedder(const config::Config& config, const config::Routing& routing) {
  const auto& decisions = routing.decisions;
  if (std::any_of(decisions.begin(), decisions.end(), compares_cards)) return true;
  const auto contrastive = [&](std::string_view name) {
    return std::any_of(routing.jailbreak.begin(), routing.jailbreak.end(),
                       [&](const auto& each) { return each.name == name && is_contrastive(each); });
  };
  return any_condition(routing, [&](std::string_view type, std::string_view name) {
    if (type == "jailbreak") return contrastive(name);
    if (type == "preference") return config.modules.classifier.preference.use_contrastive;
    if (type == "complexity") return !config.modules.complexity.server.calls_server();
    return type == "embedding" || type == "intent" || type == "reask" || type == "kb" ||
           type == "kb_metric";
  });
}

std::string embedder_key(const config::Config& config) {
  return fmt::format("global.model_catalog.embeddings.semantic.{}",
                     config.embedding_model.path_key);
}

uint32_t line_of(const config::Config& config, std::string_view key) {
  const auto found = config.catalog_lines.find(key);
  return found == config.catalog_lines.end() ? 0 : found->second;
}

/// The beginning of a message: the place of the key in the file, and the directory.
std::string absence_of(const std::string& source, const ModelNeed& need) {
  const std::string place = need.line == 0 ? source : fmt::format("{}:{}", source, need.line);
  return fmt::format("{}: {}: there is no model at \"{}\"", place, need.key, need.directory);
}

/// The end of a message about a missing model: the command that fetches it; "": none does.
std::string remedy_of(const std::string& directory) {
  const std::string command = weights::pull_command(directory);
  return command.empty() ? "" : fmt::format("; fetch it with `{}`", command);
}

/// The command that fetches our own model for the same task, if it is not among those that
/// `signalbox models pull` fetches.
std::string_view small_remedy_of(const ModelNeed& need) {
  const bool is_among_pairs = need.task == "hallucination" || need.task == "nli";
  return is_among_pairs ? "; `signalbox models pull pairs` fetches a small one that stands in" : "";
}

std::string refusal_of(const std::string& source, const ModelNeed& need) {
  if (need.task == "safety") {  // no model of ours has this task
    return fmt::format(
        "{}, but decisions depend on {}; name the directory of a classifier with the classes safe "
        "and unsafe in global.model_catalog.system.safety, or serve without it with "
        "--missing-models ignore",
        absence_of(source, need), need.what);
  }
  std::string command = weights::pull_command(need.directory);
  if (command.empty()) command = "signalbox models pull hf:OWNER/NAME";
  const std::string message = fmt::format("{}, but decisions depend on {}; fetch it with `{}`",
                                          absence_of(source, need), need.what, command);
  if (!need.may_be_ignored)
    return message + ", or fetch models that stand in with `signalbox models pull`";
  return message +
         ", fetch models that stand in with `signalbox models pull`, or serve without it with "
         "--missing-models ignore";
}

std::string notice_of_stand_in(const std::string& source, const ModelNeed& need,
                               const std::string& directory) {
  return fmt::format("{}; {} stands in for it", absence_of(source, need), directory);
}

ModelNeed embedder_need(const config::Config& config, const config::Routing& routing) {
  const std::string key = embedder_key(config);
  return {.directory = config.embedding_model.path,
          .key = key,
          .what = std::string(routing.embeddings.empty() ? "similarities of meaning"
                                                         : "embedding signals"),
          .task = "",
          .is_required = !routing.embeddings.empty() || depends_on_embedder(config, routing),
          .line = line_of(config, key),
          .may_be_ignored = routing.embeddings.empty()};
}

/// Collects the missing models, so that one error reports all of them.
class MissingModelList {
 public:
  explicit MissingModelList(const std::string& source) : source_(source) {}

  void add(const ModelNeed& need) {
    const std::string line = refusal_of(source_, need);
    if (lines_.find(line) != std::string::npos) return;
    lines_ += (lines_.empty() ? "" : "\n") + line;
  }

  Result<void> result() const {
    if (lines_.empty()) return {};
    return fail(Code::kInvalid, "{}", lines_);
  }

 private:
  const std::string& source_;
  std::string lines_;
};

// Opens the embedding server. Returns null if it does not answer and no decision depends on it, or
// the process may do without.
Result<std::shared_ptr<const engine::TextEmbedder>> open_remote(const config::Config& config,
                                                                const MissingModels& missing) {
  const auto routings = config::routings_of(config);
  const bool is_needed = std::any_of(routings.begin(), routings.end(), [&](const auto* routing) {
    return compares_texts(config, *routing);
  });
  auto opened = open_remote_embedder(*config.embedding_model.endpoint);
  if (opened) return opened;
  if (!missing.refuse || !is_needed) return nullptr;
  return fail_in(
      fmt::format("{}: global.model_catalog.embeddings.semantic.endpoint", config.source),
      std::move(opened).error());
}

}  // namespace

std::string absence(const std::string& directory) {
  if (directory.empty()) return "no model is configured for this type";
  return fmt::format("there is no model at {}{}", directory, remedy_of(directory));
}

std::vector<std::string> find_condition_labels(const config::Routing& routing,
                                               std::string_view name) {
  std::vector<std::string> out;
  const std::string prefix = fmt::format("{}:", name);
  for (const auto& [type, class_name] : find_conditions(routing)) {
    if (type == "classifier" && class_name.starts_with(prefix))
      out.push_back(class_name.substr(prefix.size()));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> find_conditions(const config::Routing& routing) {
  std::vector<std::pair<std::string, std::string>> out;
  any_condition(routing, [&](std::string_view type, std::string_view name) {
    out.emplace_back(type, name);
    return false;
  });
  return out;
}

bool uses_type(const config::Routing& routing, std::string_view type) {
  return any_condition(routing,
                       [&](std::string_view each, std::string_view) { return each == type; });
}

std::string classifier_directory(const config::Config& config, std::string_view type) {
  return classifier_of(config, type).directory;
}

bool selects_tools(const config::Config& config, const config::Routing& routing) {
  return config.tools.enabled ||
         std::any_of(routing.decisions.begin(), routing.decisions.end(), [](const auto& decision) {
           const auto& lists = decision.tools;
           const auto& selection = decision.tool_selection;
           return (selection && selection->enabled) ||
                  (lists && lists->enabled && lists->semantic_selection);
         });
}

bool needs_embedder(const config::Config& config, const config::Routing& r) {
  const bool rates_by_examples =
      !r.complexity.empty() && !config.modules.complexity.server.calls_server();
  return std::any_of(r.jailbreak.begin(), r.jailbreak.end(), is_contrastive) ||
         std::any_of(r.decisions.begin(), r.decisions.end(), compares_cards) ||
         std::any_of(r.decisions.begin(), r.decisions.end(), has_semantic_cache) ||
         std::any_of(r.decisions.begin(), r.decisions.end(), compares_shadows) ||
         std::any_of(r.decisions.begin(), r.decisions.end(), compares_documents) ||
         !r.embeddings.empty() || !r.intents.empty() || rates_by_examples || !r.reasks.empty() ||
         !r.preferences.empty() || !r.kb.empty() || uses_type(r, "kb_metric");
}

std::vector<ModelNeed> classifier_needs(const config::Config& config,
                                        const config::Routing& routing) {
  std::vector<ModelNeed> out;
  const auto add = [&](std::string_view task, std::string_view signals, bool declared,
                       bool is_required) {
    ConfiguredDirectory place = classifier_of(config, task);
    if (place.directory.empty() || is_remote_guard(place.directory)) return;
    if (!declared && !is_required) return;
    const uint32_t line = line_of(config, place.key);
    out.push_back({std::move(place.directory),
                   std::move(place.key),
                   fmt::format("{} signals", signals),
                   std::string(task),
                   {},
                   is_required,
                   line});
  };
  const auto add_type = [&](std::string_view type, bool declared) {
    add(type, type, declared, uses_type(routing, type));
  };
  add_type("domain", !routing.domains.empty());
  add_type("fact_check", !routing.fact_check.empty());
  add_type("user_feedback", !routing.user_feedbacks.empty());
  add_type("modality", !routing.modality.empty());
  // A missing PII model needs no check here for pii_policy: a model with a policy that cannot be
  // checked receives no requests.
  const auto& models = config.providers.models;
  const auto& decisions = routing.decisions;
  const bool masks = std::any_of(decisions.begin(), decisions.end(), [](const auto& decision) {
    return decision.pii_mask && decision.pii_mask->enabled;
  });
  add_type("safety", !routing.safety.empty());
  add_type("pii", masks || !routing.pii.empty() ||
                      std::any_of(models.begin(), models.end(), selection::restricts));
  for (const config::JailbreakSignal& signal : routing.jailbreak) {
    if (signal.method == config::JailbreakSignal::Method::kContrastive) continue;
    const bool is_required =
        any_condition(routing, [&](std::string_view type, std::string_view name) {
          return type == "jailbreak" && name == signal.name;
        });
    add("jailbreak", "jailbreak", true, is_required);
  }
  // Without these models, replies are checked only for numbers and similar facts.
  for (const config::Decision& decision : decisions) {
    const auto& plugin = decision.hallucination;
    if (!plugin || !plugin->enabled) continue;
    const config::HallucinationDetector& detector =
        config.modules.hallucination_mitigation.detector;
    add("hallucination", "hallucination", true, false);
    if (plugin->use_nli || detector.enable_nli_filtering) add("nli", "hallucination", true, false);
  }
  if (std::any_of(decisions.begin(), decisions.end(), compares_shadows))
    add("nli", "shadow_dispatch", true, false);
  for (const config::Decision& decision : decisions) {
    const auto& plugin = decision.response_jailbreak;
    if (!plugin || !plugin->enabled) continue;
    const bool counts = plugin->action != config::ResponseJailbreakPlugin::Action::kNone;
    add("jailbreak", "response_jailbreak", true, counts);
  }
  for (const config::Decision& decision : decisions) {
    const std::string& reranker = config::reranker_of(config, routing);
    if (!reranks_documents(decision) || reranker.empty()) continue;
    out.push_back({reranker,
                   "rag.reranker",
                   "the order of documents",
                   "",
                   {},
                   decision.rag->on_failure == "block"});
  }
  for (const config::ClassifierSignal& signal : routing.classifiers) {
    if (signal.type != config::ClassifierSignal::Type::kLocal) continue;
    const std::string labels = signal.name + ":";
    const bool is_required =
        any_condition(routing, [&](std::string_view type, std::string_view name) {
          return type == "classifier" && name.starts_with(labels);
        });
    out.push_back({signal.model_path,
                   fmt::format("model_path of the classifier signal \"{}\"", signal.name),
                   "classifier signals",
                   signal.operating_point ? "" : std::string(find_task(signal.model_path)),
                   signal.labels, is_required, signal.line});
  }
  return out;
}

MissingModels MissingModels::of(config::MissingModels choice, bool serves) {
  switch (choice) {
    case config::MissingModels::kFail:
      return {.stand_in = false, .refuse = true};
    case config::MissingModels::kStandIn:
      return {.stand_in = true, .refuse = serves};
    case config::MissingModels::kIgnore:
      return {.stand_in = false, .refuse = false};
  }
  return {};
}

Result<Models> open_models(const config::Config& config, const MissingModels& missing,
                           const OpenModel& open) {
  Models models;
  models.refuses_useless = missing.refuse;
  // The heads of an adapter share one model.
  std::map<std::filesystem::path, std::shared_ptr<const engine::TextModel>> opened;
  const auto open_once =
      [&](const std::string& path) -> Result<std::shared_ptr<const engine::TextModel>> {
    SIGNALBOX_TRY(const engine::ModelPath place, engine::find_model(path));
    auto& model = opened[place.model()];
    if (model == nullptr) {
      SIGNALBOX_TRY(model, open(path));
    }
    return model;
  };
  const auto open_named =
      [&](std::string_view key,
          const std::string& path) -> Result<std::shared_ptr<const engine::TextModel>> {
    auto model = open_once(path);
    if (!model) return fail_in(fmt::format("{}: {}", config.source, key), std::move(model).error());
    return model;
  };
  MissingModelList absent(config.source);
  const auto report_missing = [&](const ModelNeed& need) {
    if (need.is_required && missing.refuse) absent.add(need);
  };
  const std::string& path = config.embedding_model.path;
  const std::string place = weights::installed_directory(path);
  const auto open_embedder = [&]() -> Result<std::shared_ptr<const engine::TextEmbedder>> {
    SIGNALBOX_TRY(auto model, open_named(embedder_key(config), place));
    return shape_embedder(config.embedding_model, std::move(model));
  };
  if (config.embedding_model.is_remote()) {
    SIGNALBOX_TRY(models.embedder, open_remote(config, missing));
  }
  for (const config::Routing* routing : config::routings_of(config)) {
    const bool compares = compares_texts(config, *routing);
    if (models.embedder == nullptr && compares && !config.embedding_model.is_remote()) {
      const ModelNeed need = embedder_need(config, *routing);
      if (is_there(place)) {
        SIGNALBOX_TRY(models.embedder, open_embedder());
      } else if (!need.may_be_ignored && !missing.refuse) {
        // `open` may have models without a directory.
        if (auto found = open_embedder()) {
          models.embedder = *std::move(found);
        } else {
          absent.add(need);
        }
      } else {
        report_missing(need);
      }
    }
    for (const ModelNeed& need : classifier_needs(config, *routing)) {
      if (models.classifiers.contains(need.directory)) continue;
      const std::string found = weights::installed_directory(need.directory);
      const bool is_found = is_there(found);
      const std::string directory = is_found ? found
                                    : missing.stand_in
                                        ? find_stand_in(need.task, need.directory, need.labels)
                                        : "";
      if (directory.empty()) {
        report_missing(need);
        continue;
      }
      SIGNALBOX_TRY(models.classifiers[need.directory], open_named(need.key, directory));
      if (is_found) continue;
      models.stand_ins[need.directory] = directory;
      models.notices.push_back(notice_of_stand_in(config.source, need, directory));
    }
  }
  SIGNALBOX_TRY_VOID(open_servers(config, models));
  SIGNALBOX_TRY_VOID(absent.result());
  models.open = open;
  return models;
}

std::vector<std::string> missing_model_notices(const config::Config& config) {
  std::vector<ModelNeed> absent;  // each model once
  const auto add = [&](ModelNeed need) {
    if (is_there(weights::installed_directory(need.directory))) return;
    const auto same = std::ranges::find(absent, need.directory, &ModelNeed::directory);
    if (same == absent.end())
      absent.push_back(std::move(need));
    else if (need.is_required)
      *same = std::move(need);
  };
  for (const config::Routing* routing : config::routings_of(config)) {
    if (compares_texts(config, *routing) && !config.embedding_model.is_remote())
      add(embedder_need(config, *routing));
    for (ModelNeed& need : classifier_needs(config, *routing)) add(std::move(need));
  }
  const MissingModels missing = MissingModels::of(config.missing_models, true);
  std::vector<std::string> out;
  for (const ModelNeed& need : absent) {
    const std::string stand_in =
        missing.stand_in ? find_stand_in(need.task, need.directory, need.labels) : "";
    if (!stand_in.empty())
      out.push_back(notice_of_stand_in(config.source, need, stand_in));
    else if (need.is_required && missing.refuse)
      out.push_back(refusal_of(config.source, need));
    else
      out.push_back(fmt::format("{} for {}{}{}", absence_of(config.source, need), need.what,
                                remedy_of(need.directory),
                                missing.stand_in ? small_remedy_of(need) : ""));
  }
  return out;
}

}  // namespace signalbox::models
