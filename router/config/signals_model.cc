// Signals that a model finds: classifiers and embeddings.

#include <algorithm>

#include "router/config/pii_types.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

void check_embedding(Reader& reader, const yaml::Node& node, EmbeddingSignal& out) {
  const yaml::Node* candidates = node.find("candidates");
  if (candidates != nullptr && is_idle(*candidates)) {
    reader.at_key("candidates", [&] {
      reader.error(candidates->line, "expected at least one candidate, found none");
    });
  }
  if (out.query_modality == EmbeddingSignal::Modality::kText) return;
  reader.at_key("query_modality", [&] {
    reader.not_built(node.find("query_modality")->line, "the request's text is compared");
  });
}

const Section<ModelScore>& model_score_section() {
  static const Section<ModelScore> section{{
      required("model", text(&ModelScore::model), "one of providers.models"),
      optional("score", number(&ModelScore::score), "how well it does in the domain"),
      optional("use_reasoning", boolean(&ModelScore::use_reasoning),
               "switch reasoning on or off there"),
  }};
  return section;
}

const Section<ComplexitySignal::Examples>& examples_section() {
  using Examples = ComplexitySignal::Examples;
  static const Section<Examples> section{{
      optional("candidates", texts(&Examples::candidates), "texts of that kind"),
      optional("image_candidates", texts(&Examples::image_candidates), "descriptions of images")
          .not_built("images are not looked at"),
  }};
  return section;
}

const Section<KbSignal::Target>& kb_target_section() {
  using Target = KbSignal::Target;
  using Kind = Target::Kind;
  static const Section<Target> section{{
      optional("kind", choice(&Target::kind, {{"label", Kind::kLabel}, {"group", Kind::kGroup}}),
               "what the value is of"),
      required("value", text(&Target::value), "a label or a group of the knowledge base"),
  }};
  return section;
}

void check_classifier(Reader& reader, const yaml::Node& node, ClassifierSignal&) {
  const yaml::Node* type = node.find("type");
  const auto need = [&](std::string_view word, std::string_view key) {
    if (type == nullptr || type->scalar != word || node.find(key) != nullptr) return;
    reader.at_key(key, [&] {
      reader.error(node.line, fmt::format("missing; a classifier of type {} needs it", word));
    });
  };
  need("local", "model_path");
  need("llm", "model");
}

}  // namespace

const Section<EmbeddingSignal>& embedding_section() {
  using S = EmbeddingSignal;
  using Aggregation = S::Aggregation;
  using Modality = S::Modality;
  static const Section<S> section{
      {
          required("name", text(&S::name), "what conditions call it"),
          optional("description", string(&S::description), "for people"),
          optional("threshold", number(&S::threshold, -1, 1), "least similarity that matches"),
          required("candidates", texts(&S::candidates), "examples of what to recognise"),
          optional("aggregation_method",
                   choice(&S::aggregation, {{"mean", Aggregation::kMean},
                                            {"max", Aggregation::kMax},
                                            {"any", Aggregation::kAny}}),
                   "how the similarities to the candidates become one"),
          optional("query_modality",
                   choice(&S::query_modality, {{"text", Modality::kText},
                                               {"image", Modality::kImage},
                                               {"audio", Modality::kAudio}}),
                   "which part of the request is compared"),
      },
      check_embedding};
  return section;
}

const Section<IntentSignal>& intent_section() {
  using S = IntentSignal;
  static const Section<S> section{
      {
          required("name", text(&S::name), "what conditions call it"),
          optional("description", string(&S::description), "for people"),
          required("examples", texts(&S::examples), "requests of that intent"),
          optional("neighbours", integer(&S::neighbours, 1, 1000),
                   "how many of the nearest examples of all intents vote"),
          optional("threshold", share(&S::threshold), "least share of the votes"),
          optional("min_similarity", number(&S::min_similarity, -1, 1),
                   "least similarity of the nearest example"),
      },
      [](Reader& reader, const yaml::Node& node, S&) {
        const yaml::Node* examples = node.find("examples");
        if (examples == nullptr || !is_idle(*examples)) return;
        reader.at_key("examples", [&] {
          reader.error(examples->line, "expected at least one example, found none");
        });
      }};
  return section;
}

const Section<DomainSignal>& domain_section() {
  using S = DomainSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("mmlu_categories", texts(&S::mmlu_categories),
               "classes of the classifier; default: the name"),
      optional("model_scores", list(&S::model_scores, model_score_section),
               "which models do well in it"),
  }};
  return section;
}

const Section<ClassSignal>& class_section() {
  static const Section<ClassSignal> section{{
      required("name", text(&ClassSignal::name), "the class of the classifier"),
      optional("description", string(&ClassSignal::description), "for people"),
  }};
  return section;
}

const Section<ReaskSignal>& reask_section() {
  using S = ReaskSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("threshold", number(&S::threshold, -1, 1), "least similarity to the turns before"),
      optional("lookback_turns", integer(&S::lookback_turns, 0, 1000), "how many of them"),
  }};
  return section;
}

const Section<PreferenceSignal>& preference_section() {
  using S = PreferenceSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "what is preferred, for models to read"),
      optional("examples", texts(&S::examples), "requests that show it"),
      optional("threshold", number(&S::threshold, -1, 1), "least similarity; 0: the default"),
  }};
  return section;
}

const Section<ComplexitySignal>& complexity_section() {
  using S = ComplexitySignal;
  static const Section<S> section{{
      required("name", text(&S::name), "conditions append :hard, :medium or :easy"),
      optional("description", string(&S::description), "for people"),
      optional("threshold", number(&S::threshold, -1, 2), "margin between hard and easy"),
      optional("hard", object(&S::hard, examples_section), "hard requests"),
      optional("easy", object(&S::easy, examples_section), "easy ones"),
      optional("composer", composer_value(), "must hold as well"),
  }};
  return section;
}

const Section<JailbreakSignal>& jailbreak_section() {
  using S = JailbreakSignal;
  using Method = S::Method;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("method",
               choice(&S::method, {{"classifier", Method::kClassifier},
                                   {"contrastive", Method::kContrastive},
                                   {"hybrid", Method::kHybrid}}),
               "a classifier, similarity to patterns, or both"),
      optional("threshold", share(&S::threshold), "least score; 0: that of prompt_guard"),
      optional("include_history", boolean(&S::include_history), "look at earlier turns as well"),
      optional("jailbreak_patterns", texts(&S::jailbreak_patterns), "attempts"),
      optional("benign_patterns", texts(&S::benign_patterns), "what only looks like one"),
  }};
  return section;
}

const Section<PiiSignal>& pii_section() {
  using S = PiiSignal;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      optional("threshold", share(&S::threshold), "least confidence; 0: that of the classifier"),
      optional("pii_types_allowed", pii_types(&S::pii_types_allowed), "types that do not count"),
      optional("include_history", boolean(&S::include_history), "look at earlier turns as well"),
  }};
  return section;
}

const Section<KbSignal>& kb_section() {
  using S = KbSignal;
  using Match = S::Match;
  static const Section<S> section{{
      required("name", text(&S::name), "what conditions call it"),
      optional("description", string(&S::description), "for people"),
      required("kb", text(&S::kb), "one of global.model_catalog.kbs"),
      required("target", object(&S::target, kb_target_section), "what of it"),
      optional("match",
               choice(&S::match, {{"best", Match::kBest}, {"threshold", Match::kThreshold}}),
               "the best of all, or every one over its threshold"),
  }};
  return section;
}

const Section<ClassifierSignal>& classifier_section() {
  using S = ClassifierSignal;
  using Type = S::Type;
  static const Section<S> section{
      {
          required("name", text(&S::name), "what conditions call it"),
          optional("description", string(&S::description), "for people"),
          required("type", choice(&S::type, {{"local", Type::kLocal}, {"llm", Type::kLlm}}),
                   "a model of ours, or a prompt to another"),
          optional("model_path", text(&S::model_path), "of local: a model directory"),
          optional("use_cpu", boolean(&S::use_cpu), "of local"),
          optional("model", text(&S::model), "of llm: one of global.model_catalog.external"),
          optional("instructions", string(&S::instructions), "of llm: how to choose a label"),
          optional("labels", texts(&S::labels), "the classes; default: all of the model's"),
      },
      check_classifier};
  return section;
}

}  // namespace signalbox::config
