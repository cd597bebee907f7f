// Creates the signal types in the order of the configuration's keys. Explanations use the same
// order.

#include "router/signals/factory.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engine/model_path.h"
#include "router/models/class_names.h"
#include "router/models/judges.h"
#include "router/models/remote_guard.h"
#include "router/models/stand_ins.h"
#include "router/signals/embedding.h"
#include "router/signals/jailbreak_windows.h"
#include "router/signals/keyword.h"
#include "router/signals/knowledge_base.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr std::string_view kNoEmbedder = "there is no embedding model";

template <class Signal>
std::vector<std::string> names_of(const std::vector<Signal>& signals) {
  std::vector<std::string> names;
  for (const Signal& signal : signals) names.push_back(signal.name);
  return names;
}

// Signals that can never be computed. They keep their names, so that conditions resolve and can
// report why.
class Unavailable : public SignalType {
 public:
  Unavailable(std::string_view type, std::vector<std::string> names, std::string why)
      : type_(type), names_(std::move(names)), why_(std::move(why)) {}

  std::string_view type() const override { return type_; }
  Needs needs() const override { return Needs::kRequest; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }
  std::string_view unavailable(size_t) const override { return why_; }
  Result<void> evaluate(Inputs&, std::span<Reading>, std::vector<Evidence>&) const override {
    return {};
  }

 private:
  std::string type_;
  std::vector<std::string> names_;
  std::string why_;
};

std::unique_ptr<const SignalType> unavailable_signals(std::string_view type,
                                                      std::vector<std::string> names,
                                                      std::string why) {
  return std::make_unique<Unavailable>(type, std::move(names), std::move(why));
}

class Factory {
 public:
  Factory(const config::Config& config, const config::Routing& routing,
          const models::Models& models)
      : config_(config), routing_(routing), models_(models) {}

  Result<SignalTypes> make() {
    const config::Routing& r = routing_;
    SIGNALBOX_TRY_VOID(
        add(r.keywords, [&] { return KeywordSignals::create(r.keywords, config_.source); }));
    SIGNALBOX_TRY_VOID(add_embedded("embedding", r.embeddings, [&](const auto& embedder) {
      return EmbeddingSignals::create(r.embeddings, config_.embedding_model, embedder);
    }));
    SIGNALBOX_TRY_VOID(add_embedded("intent", r.intents, [&](const auto& embedder) {
      return intent_signals(r.intents, embedder);
    }));
    SIGNALBOX_TRY_VOID(domains());
    SIGNALBOX_TRY_VOID(fact_check());
    SIGNALBOX_TRY_VOID(user_feedback());
    SIGNALBOX_TRY_VOID(add_embedded("reask", r.reasks, [&](const auto&) {
      return reask_signals(r.reasks, config_.embedding_model.exponent_of_repetition());
    }));
    SIGNALBOX_TRY_VOID(preferences());
    SIGNALBOX_TRY_VOID(add(r.language, [&] { return language_signals(r.language); }));
    SIGNALBOX_TRY_VOID(add(r.context, [&] { return context_signals(r.context); }));
    SIGNALBOX_TRY_VOID(
        add(r.structure, [&] { return structure_signals(r.structure, config_.source); }));
    SIGNALBOX_TRY_VOID(complexity());
    SIGNALBOX_TRY_VOID(modality());
    SIGNALBOX_TRY_VOID(
        add(r.role_bindings, [&] { return authz_signals(r.role_bindings, config_.authz); }));
    SIGNALBOX_TRY_VOID(jailbreak());
    SIGNALBOX_TRY_VOID(safety());
    SIGNALBOX_TRY_VOID(pii());
    SIGNALBOX_TRY_VOID(knowledge_bases());
    SIGNALBOX_TRY_VOID(add(r.conversation, [&] { return conversation_signals(r.conversation); }));
    SIGNALBOX_TRY_VOID(add(r.events, [&] { return event_signals(r.events); }));
    SIGNALBOX_TRY_VOID(add(r.metadata, [&] { return metadata_signals(r.metadata); }));
    SIGNALBOX_TRY_VOID(
        add(r.input_modality, [&] { return input_modality_signals(r.input_modality); }));
    SIGNALBOX_TRY_VOID(add(r.actions, [&] { return action_signals(r.actions); }));
    SIGNALBOX_TRY_VOID(add(r.agentic_facts, [&] {
      return agentic_facts_signals(r.agentic_facts, config_.router.agentic_facts);
    }));
    SIGNALBOX_TRY_VOID(add(r.session, [&] {
      return session_signals(r.session, config_.router.learning.protection.identity.headers);
    }));
    SIGNALBOX_TRY_VOID(add(r.random, [&] { return random_signals(r.random); }));
    questions();
    SIGNALBOX_TRY_VOID(classifiers());
    unbuilt();
    return std::move(types_);
  }

  Result<ModelChoice> classifier_of(std::string_view type) const {
    const config::ClassifierModules& modules = config_.modules.classifier;
    const bool pii = type == "pii";
    return choose_classifier(models::classifier_directory(config_, type),
                             pii ? engine::HeadKind::kTokens : engine::HeadKind::kSequence,
                             (pii ? modules.pii : modules.domain).mapping_path);
  }

 private:
  template <class List, class Make>
  Result<void> add(const List& signals, const Make& make) {
    if (signals.empty()) return {};
    SIGNALBOX_TRY(auto type, make());
    types_.push_back(std::move(type));
    return {};
  }

  // Adds signals that compare meanings, or unavailable ones if there is no embedder.
  template <class List, class Make>
  Result<void> add_embedded(std::string_view type, const List& signals, const Make& make) {
    return add(signals, [&]() -> SignalTypeResult {
      if (models_.embedder != nullptr) return make(*models_.embedder);
      return unavailable_signals(type, names_of(signals), std::string(kNoEmbedder));
    });
  }

  Result<void> preferences() {
    const config::PreferenceModel& model = config_.modules.classifier.preference;
    return add(routing_.preferences, [&]() -> SignalTypeResult {
      const auto names = names_of(routing_.preferences);
      if (const auto judge = models::preference_judge(config_, routing_)) {
        ClassTask task{.type = "preference", .signals = {}};
        for (const config::PreferenceSignal& signal : routing_.preferences)
          task.signals.push_back({signal.name, {signal.name}, signal.threshold});
        return judged(std::move(task), *judge);
      }
      if (models_.embedder == nullptr)
        return unavailable_signals("preference", names, std::string(kNoEmbedder));
      return preference_signals(routing_.preferences, scaled(model.prototype_scoring),
                                *models_.embedder);
    });
  }

  // Signals that a language model on a server decides.
  std::unique_ptr<const SignalType> judged(ClassTask task, const models::Judge& judge) const {
    if (judge.why.empty()) task.threshold = judge.server->threshold;
    return class_signals(std::move(task), judge_choice(judge));
  }

  ModelChoice judge_choice(const models::Judge& judge) const {
    ModelChoice choice{.why = judge.why};
    if (judge.server != nullptr) choice.server = models::shown_name(*judge.server);
    if (!choice.why.empty()) return choice;
    const auto found = models_.classifiers.find(judge.key);
    if (found == models_.classifiers.end()) {
      choice.why = "its server is not called here";
    } else {
      choice.model = found->second.get();
      choice.labels = choice.model->heads()[0].labels;
    }
    return choice;
  }

  void questions() {
    for (const config::QuestionSignal& signal : routing_.questions) {
      ModelChoice choice{.why = signal.unbuilt};
      if (choice.why.empty()) choice = judge_choice(models::judge_of(config_, routing_, signal));
      types_.push_back(question_signals(signal, std::move(choice)));
    }
  }

  // Margins between two similarities (complexity, jailbreak patterns) are not scaled.
  config::PrototypeScoring scaled(config::PrototypeScoring scoring) const {
    scoring.similarity_exponent = config_.embedding_model.exponent();
    return scoring;
  }

  Result<void> complexity() {
    const config::ComplexityModule& module = config_.modules.complexity;
    if (!routing_.complexity.empty() && module.server.calls_server()) {
      SIGNALBOX_TRY(ModelChoice choice,
                    choose_classifier(models::classifier_directory(config_, "complexity"),
                                      engine::HeadKind::kSequence, ""));
      return add(routing_.complexity, [&] {
        return rated_complexity_signals(routing_.complexity, std::move(choice), module.is_scored());
      });
    }
    return add(routing_.complexity, [&]() -> SignalTypeResult {
      if (models_.embedder != nullptr) {
        return complexity_signals(routing_.complexity, config_.modules.complexity.prototype_scoring,
                                  *models_.embedder);
      }
      std::vector<std::string> names;
      for (const config::ComplexitySignal& signal : routing_.complexity) {
        for (const std::string_view level : {":hard", ":medium", ":easy"})
          names.push_back(fmt::format("{}{}", signal.name, level));
      }
      return unavailable_signals("complexity", names, std::string(kNoEmbedder));
    });
  }

  // The names of the knowledge bases that signals and scores use.
  std::set<std::string> used_knowledge_bases() const {
    std::set<std::string> out;
    for (const config::KbSignal& signal : routing_.kb) out.insert(signal.kb);
    for (const config::Score& score : routing_.projections.scores) {
      for (const config::ScoreInput& input : score.inputs) {
        if (input.type == "kb_metric") out.insert(input.kb);
      }
    }
    return out;
  }

  // A knowledge base that is not declared may still be found by its name.
  Result<void> knowledge_bases() {
    std::vector<std::shared_ptr<const KnowledgeBase>> bases;
    const auto folder = std::filesystem::path(config_.source).parent_path();
    for (const std::string& name : used_knowledge_bases()) {
      if (models_.embedder == nullptr) break;
      const auto declared = std::ranges::find(config_.kbs, name, &config::KnowledgeBase::name);
      config::KnowledgeBase kb;
      kb.name = name;
      if (declared != config_.kbs.end()) kb = *declared;
      kb.prototype_scoring = scaled(kb.prototype_scoring);
      auto manifest = knowledge::find_manifest(kb, folder);
      if (!manifest && manifest.error().code == Code::kNotFound) continue;
      if (!manifest) return tl::unexpected<Error>(std::move(manifest).error());
      SIGNALBOX_TRY(auto base, KnowledgeBase::create(kb, *std::move(manifest), *models_.embedder));
      bases.push_back(std::move(base));
    }
    if (!routing_.kb.empty()) types_.push_back(kb_signals(routing_.kb, bases));
    if (!bases.empty()) types_.push_back(kb_metrics(bases));
    return {};
  }

  // --- classifiers ---

  Result<ModelChoice> choose_classifier(const std::string& directory, engine::HeadKind kind,
                                        const std::string& mapping) const {
    const auto found = models_.classifiers.find(directory);
    if (found == models_.classifiers.end()) return ModelChoice{.why = models::absence(directory)};
    const std::string& answering = models_.answering(directory);
    SIGNALBOX_TRY(ModelChoice choice, choose_head(*found->second, answering, kind, mapping));
    if (answering != directory) choice.stand_in = answering;
    return choice;
  }

  Result<void> add_classes(ClassTask task, const std::string& mapping) {
    SIGNALBOX_TRY(ModelChoice choice,
                  choose_classifier(models::classifier_directory(config_, task.type),
                                    engine::HeadKind::kSequence, mapping));
    if (!choice.stand_in.empty() && models::stand_in_threshold(task.type) > 0)
      task.threshold = models::stand_in_threshold(task.type);
    types_.push_back(class_signals(std::move(task), std::move(choice)));
    return {};
  }

  // Conditions may name a class that no signal declares, so the type may be needed without signals.
  template <class List>
  bool is_used(std::string_view type, const List& signals) const {
    return !signals.empty() || models::uses_type(routing_, type);
  }

  Result<void> domains() {
    if (!is_used("domain", routing_.domains)) return {};
    const config::ClassifierModel& model = config_.modules.classifier.domain;
    ClassTask task{.type = "domain", .signals = {}};
    task.threshold = model.threshold > 0 ? model.threshold : 0.5;
    task.fallback = model.fallback_category;
    for (const config::DomainSignal& signal : routing_.domains) {
      ClassTask::Signal made{signal.name, signal.mmlu_categories};
      made.classes.push_back(signal.name);
      task.signals.push_back(std::move(made));
    }
    add_own_classes(task);
    return add_classes(std::move(task), model.mapping_path);
  }

  Result<void> fact_check() {
    if (!is_used("fact_check", routing_.fact_check)) return {};
    const config::ClassifierModel& model = config_.modules.hallucination_mitigation.fact_check;
    ClassTask task{.type = "fact_check", .signals = {}};
    task.threshold = model.threshold > 0 ? model.threshold : 0.6;
    task.fallback = "no_fact_check_needed";
    add_own_classes(task);
    add_names(task, routing_.fact_check);
    return add_classes(std::move(task), model.mapping_path);
  }

  Result<void> user_feedback() {
    if (!is_used("user_feedback", routing_.user_feedbacks)) return {};
    const config::ClassifierModel& model = config_.modules.feedback_detector;
    ClassTask task{.type = "user_feedback", .signals = {}};
    task.threshold = model.threshold > 0 ? model.threshold : 0.7;
    // As in the Semantic Router, a user who is not clearly dissatisfied is satisfied.
    task.fallback = "satisfied";
    task.needs_answer = true;
    add_own_classes(task);
    add_names(task, routing_.user_feedbacks);
    return add_classes(std::move(task), model.mapping_path);
  }

  Result<void> modality() {
    if (!is_used("modality", routing_.modality)) return {};
    const config::ModalityDetection& detection = config_.modules.modality_detector;
    const std::string directory = models::classifier_directory(config_, "modality");
    const bool words = !detection.keywords.empty() || !detection.both_keywords.empty() ||
                       !detection.prompt_prefixes.empty();
    const bool classifies = models_.classifiers.contains(directory);
    if (detection.enabled && words && !classifies && detection.method != "classifier")
      return add(models::classes_of_task("modality"), [&] {
        const auto own = models::classes_of_task("modality");
        std::vector<std::string> names(own.begin(), own.end());
        for (const config::ClassSignal& signal : routing_.modality) {
          if (std::ranges::find(names, signal.name) == names.end()) names.push_back(signal.name);
        }
        return modality_signals(std::move(names), detection);
      });
    ClassTask task{.type = "modality", .signals = {}};
    if (detection.confidence_threshold > 0) task.threshold = detection.confidence_threshold;
    add_own_classes(task);
    add_names(task, routing_.modality);
    return add_classes(std::move(task), "");
  }

  static void add_own_classes(ClassTask& task) {
    for (const std::string_view name : models::classes_of_task(task.type)) {
      if (std::ranges::find(task.signals, name, &ClassTask::Signal::name) == task.signals.end())
        task.signals.push_back({std::string(name), {std::string(name)}});
    }
  }

  // A declared name that is not a class of the task never matches, as in the Semantic Router, which
  // compares the name with the class.
  static void add_names(ClassTask& task, const std::vector<config::ClassSignal>& declared) {
    for (const config::ClassSignal& signal : declared) {
      if (std::ranges::find(task.signals, signal.name, &ClassTask::Signal::name) ==
          task.signals.end())
        task.signals.push_back({signal.name, {}});
    }
  }

  // A signal that is to match texts in unsupported languages would never do so with a head that
  // lists none, and its operator would not notice.
  Result<void> need_languages(const ModelChoice& choice) const {
    using config::JailbreakSignal;
    const auto strict =
        std::ranges::find(routing_.jailbreak, JailbreakSignal::OnUnsupportedLanguage::kMatch,
                          &JailbreakSignal::on_unsupported_language);
    if (strict == routing_.jailbreak.end() || choice.model == nullptr) return {};
    const Guard guard = make_guard(*choice.model, choice.head, {});
    if (!guard.languages.empty() && !guard.document_languages.empty()) return {};
    const std::string what = fmt::format(
        "{}: the jailbreak signal \"{}\" has on_unsupported_language: match, and its classifier "
        "lists no languages",
        config_.source, strict->name);
    if (choice.calls_server()) {
      return fail(Code::kInvalid,
                  "{}, because it is on a server; remove this key, or use a model in a directory",
                  what);
    }
    const std::string configured = models::classifier_directory(config_, "jailbreak");
    const std::string& directory = models_.answering(configured);
    return fail(Code::kInvalid,
                "{}: there is no classifier_languages in {}, or in that of its head injection; run "
                "`signalbox models pull` for the built-in models, list the languages of a model of "
                "your own there, or remove this key",
                what, (std::filesystem::path(directory) / "config.json").string());
  }

  // Such a guard would refuse nothing, as a missing one, and its operator would not notice.
  Result<void> need_attack_label(const std::string& directory, const ModelChoice& choice) const {
    const config::ClassifierModel& guard = config_.modules.prompt_guard;
    if (!models_.refuses_useless || choice.model == nullptr ||
        !find_jailbreak_labels(guard, choice.labels).empty())
      return {};
    const auto needs = models::classifier_needs(config_, routing_);
    const auto need = std::ranges::find_if(needs, [&](const models::ModelNeed& each) {
      return each.is_required && each.directory == directory &&
             each.what.ends_with("jailbreak signals");
    });
    if (need == needs.end()) return {};
    constexpr size_t kShown = 8;
    const auto shown = std::span(choice.labels).first(std::min(kShown, choice.labels.size()));
    return fail(
        Code::kInvalid,
        "{}: global.model_catalog.modules.prompt_guard.positive_labels: the classifier in {} has "
        "{}, but decisions depend on {}; its labels are {}{}; name those of an attack here, or "
        "serve without them with --missing-models ignore",
        config_.source, models_.answering(directory),
        guard.positive_labels.empty()
            ? std::string("no label that is known as an attack")
            : fmt::format("none of the labels {}", fmt::join(guard.positive_labels, ", ")),
        need->what, fmt::join(shown, ", "), choice.labels.size() > kShown ? ", ..." : "");
  }

  Result<void> jailbreak() {
    const config::ClassifierModel& guard = config_.modules.prompt_guard;
    const std::string directory = models::classifier_directory(config_, "jailbreak");
    SIGNALBOX_TRY(ModelChoice choice,
                  choose_classifier(directory, engine::HeadKind::kSequence, guard.mapping_path));
    SIGNALBOX_TRY_VOID(need_attack_label(directory, choice));
    if (routing_.jailbreak.empty()) return {};
    SIGNALBOX_TRY_VOID(need_languages(choice));
    return add(routing_.jailbreak, [&] {
      return jailbreak_signals(routing_.jailbreak, guard, std::move(choice),
                               models_.embedder.get());
    });
  }

  Result<void> safety() {
    if (routing_.safety.empty()) return {};
    const config::ClassifierModel& module = config_.modules.safety;
    SIGNALBOX_TRY(ModelChoice choice,
                  choose_classifier(models::classifier_directory(config_, "safety"),
                                    engine::HeadKind::kSequence, module.mapping_path));
    if (models_.refuses_useless && choice.model != nullptr &&
        find_unsafe_labels(choice.labels).empty() && models::uses_type(routing_, "safety"))
      return fail(Code::kInvalid,
                  "{}: global.model_catalog.system.safety: {}, but decisions depend on it; its "
                  "labels are {}",
                  config_.source, kNoUnsafeClass, fmt::join(choice.labels, ", "));
    types_.push_back(safety_signals(routing_.safety, module, std::move(choice)));
    return {};
  }

  // Conditions on a type that is not built find their signals here, which never have a value.
  void unbuilt() {
    std::set<std::string> names;
    for (auto& [type, name] : models::find_conditions(routing_)) {
      if (type == config::kSessionMetric) names.insert(std::move(name));
    }
    if (names.empty()) return;
    types_.push_back(unavailable_signals(config::kSessionMetric, {names.begin(), names.end()},
                                         "this type is not built"));
  }

  Result<void> pii() {
    if (routing_.pii.empty()) return {};
    const config::ClassifierModel& model = config_.modules.classifier.pii;
    SIGNALBOX_TRY(ModelChoice choice,
                  choose_classifier(models::classifier_directory(config_, "pii"),
                                    engine::HeadKind::kTokens, model.mapping_path));
    return add(routing_.pii,
               [&] { return pii_signals(routing_.pii, model.threshold, std::move(choice)); });
  }

  // Creates one signal per label, named NAME:LABEL. A signal that lists no labels uses those of its
  // model.
  Result<void> classifiers() {
    for (const config::ClassifierSignal& signal : routing_.classifiers) {
      ClassTask task{.type = "classifier", .signals = {}, .threshold = 0};
      const bool is_judged = signal.type != config::ClassifierSignal::Type::kLocal;
      ModelChoice choice;
      if (!is_judged) {
        SIGNALBOX_TRY(choice,
                      choose_classifier(signal.model_path, engine::HeadKind::kSequence, ""));
      }
      if (signal.operating_point && choice.model != nullptr) {
        SIGNALBOX_TRY_VOID(add_independent(signal, std::move(choice)));
        continue;
      }
      std::set<std::string> known;
      const auto add_labels = [&](const std::vector<std::string>& labels) {
        for (const std::string& label : labels)
          if (known.insert(label).second)
            task.signals.push_back({fmt::format("{}:{}", signal.name, label), {label}});
      };
      add_labels(signal.labels.empty() ? choice.labels : signal.labels);
      add_labels(models::find_condition_labels(routing_, signal.name));
      types_.push_back(is_judged
                           ? judged(std::move(task), models::judge_of(config_, routing_, signal))
                           : class_signals(std::move(task), std::move(choice)));
    }
    return {};
  }

  Result<void> add_independent(const config::ClassifierSignal& signal, ModelChoice choice) {
    const auto make = [&]() -> SignalTypeResult {
      SIGNALBOX_TRY(const models::LabelThresholds thresholds,
                    models::read_thresholds(*signal.operating_point, signal.model_path));
      const auto& own = signal.labels.empty() ? thresholds.labels : signal.labels;
      std::set<std::string> labels(own.begin(), own.end());
      const auto named = models::find_condition_labels(routing_, signal.name);
      labels.insert(named.begin(), named.end());
      return label_signals(signal.name, labels, thresholds, std::move(choice));
    };
    auto made = make();
    if (!made)
      return fail_in(place_of(config_.source, signal.line, "classifier", signal.name),
                     std::move(made).error());
    types_.push_back(*std::move(made));
    return {};
  }

  const config::Config& config_;
  const config::Routing& routing_;
  const models::Models& models_;
  SignalTypes types_;
};

}  // namespace

Result<ModelChoice> choose_head(const engine::TextModel& model, std::string_view directory,
                                engine::HeadKind kind, const std::string& mapping) {
  if (const std::string_view server = models::server_in(directory); !server.empty()) {
    ModelChoice out{&model, 0, model.heads()[0].labels};
    out.server = server;
    return out;
  }
  SIGNALBOX_TRY(const engine::ModelPath path, engine::find_model(directory));
  auto head = engine::find_head(model, path.head, kind);
  if (!head) return fail_in(directory, std::move(head).error());
  if (kind == engine::HeadKind::kSequence && model.heads()[*head].scores == engine::Scores::kRaw) {
    return fail(Code::kInvalid, "{}: its head outputs raw scores, not probabilities", directory);
  }
  ModelChoice choice{&model, *head, model.heads()[*head].labels};
  const bool nameless = std::all_of(choice.labels.begin(), choice.labels.end(),
                                    [](const auto& label) { return label.starts_with("LABEL_"); });
  if (nameless && !mapping.empty() && kind == engine::HeadKind::kTokens) {
    return fail(Code::kInvalid,
                "{}: label names of a token head are read when the model is opened; put them into "
                "{}/pii_type_mapping.json",
                mapping, directory);
  }
  if (nameless && !mapping.empty()) {
    SIGNALBOX_TRY(choice.labels, models::read_class_names(mapping, choice.labels.size()));
  }
  return choice;
}

Result<SignalTypes> make_signals(const config::Config& config, const config::Routing& routing,
                                 const models::Models& models) {
  return Factory(config, routing, models).make();
}

Result<ModelChoice> classifier_of(const config::Config& config, const models::Models& models,
                                  std::string_view type) {
  SIGNALBOX_CHECK(type == "pii" || type == "domain");
  return Factory(config, config.routing, models).classifier_of(type);
}

}  // namespace signalbox::signals
