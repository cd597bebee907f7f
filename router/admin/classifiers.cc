// Uses a signal's model if there is one. Any other model is opened by the first request for it, so
// that unused models take no memory.

#include "router/admin/classifiers.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "base/log.h"
#include "router/models/stand_ins.h"
#include "router/signals/compression.h"
#include "router/signals/factory.h"
#include "router/signals/text_classes.h"

namespace signalbox::admin {
namespace {

/// The configuration of a classifier type.
struct Purpose {
  std::string_view type;
  std::string_view key;  // the key to set if there is none
  engine::HeadKind kind;
  double threshold;
};
constexpr Purpose kPurposes[] = {
    {"domain", "global.model_catalog.system.domain_classifier", engine::HeadKind::kSequence, 0.5},
    {"pii", "global.model_catalog.system.pii_classifier", engine::HeadKind::kTokens, 0.9},
    {"jailbreak", "global.model_catalog.system.prompt_guard", engine::HeadKind::kSequence, 0.7},
    {"fact_check", "global.model_catalog.system.fact_check_classifier", engine::HeadKind::kSequence,
     0.6},
    {"user_feedback", "global.model_catalog.system.feedback_detector", engine::HeadKind::kSequence,
     0.7},
    {"nli", "global.model_catalog.system.hallucination_explainer", engine::HeadKind::kSequence, 0},
};

std::string_view kind_of(const json::Value& value) {
  return json::type_name(value.type());
}

OrFailure<Classes> likeliest(std::vector<float> scores) {
  const auto best = std::max_element(scores.begin(), scores.end());
  if (best == scores.end())
    return tl::unexpected<access::Failure>(
        model_failure({Code::kInternal, "the model has no classes"}));
  const auto place = static_cast<size_t>(best - scores.begin());
  return Classes{std::move(scores), place};
}

}  // namespace

tl::unexpected<access::Failure> invalid(std::string message) {
  return tl::unexpected<access::Failure>(access::Failure{400, "INVALID_INPUT", std::move(message)});
}

OrFailure<json::Document> read_body(const http::Request& request) {
  auto document = json::Document::parse(request.body);
  if (!document) return invalid(document.error().message);
  if (!document->root().is_object()) return invalid("expected a JSON object");
  return *std::move(document);
}

OrFailure<std::string_view> text_member(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return invalid(fmt::format("{}: missing; expected a string", key));
  if (!value->is_string())
    return invalid(fmt::format("{}: expected a string, found {}", key, kind_of(*value)));
  if (value->text().empty()) return invalid(fmt::format("{}: must not be empty", key));
  return value->text();
}

OrFailure<std::vector<std::string_view>> texts_member(const json::Value& object,
                                                      std::string_view key, size_t count_max) {
  const auto value = object.find(key);
  if (!value || !value->is_array())
    return invalid(fmt::format("{}: expected an array of strings", key));
  std::vector<std::string_view> texts;
  for (const json::Value item : value->items()) {
    if (!item.is_string() || item.text().empty())
      return invalid(fmt::format("{}[{}]: expected a non-empty string", key, texts.size()));
    if (texts.size() == count_max)
      return invalid(fmt::format("{}: at most {} texts are allowed", key, count_max));
    texts.push_back(item.text());
  }
  if (texts.empty()) return invalid(fmt::format("{}: must not be empty", key));
  return texts;
}

OrFailure<bool> flag_member(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return false;
  if (!value->is_bool())
    return invalid(fmt::format("{}: expected true or false, found {}", key, kind_of(*value)));
  return value->boolean();
}

OrFailure<double> share_member(const json::Value& object, std::string_view key, double otherwise) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return otherwise;
  const auto number = value->number();
  if (!number || !(*number >= 0 && *number <= 1))
    return invalid(fmt::format("{}: expected a number from 0 to 1", key));
  return *number > 0 ? *number : otherwise;
}

OrFailure<int64_t> count_member(const json::Value& object, std::string_view key, int64_t max) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return 0;
  const auto number = value->integer();
  if (!number || *number < 0 || *number > max)
    return invalid(fmt::format("{}: expected an integer from 0 to {}", key, max));
  return *number;
}

OrFailure<json::Value> options_of(const json::Value& root) {
  const auto options = root.find("options");
  if (!options || options->is_null()) return root;
  if (!options->is_object()) return invalid("options: expected an object");
  return *options;
}

OrFailure<Classifier> find_classifier(const serving::ServingState& state, std::string_view type) {
  const Purpose* purpose = std::find_if(std::begin(kPurposes), std::end(kPurposes),
                                        [&](const Purpose& each) { return each.type == type; });
  SIGNALBOX_CHECK(purpose != std::end(kPurposes));
  std::string directory = models::classifier_directory(state.config(), type);
  if (directory.empty()) {
    return tl::unexpected<access::Failure>(access::Failure{
        503, "CLASSIFIER_NOT_CONFIGURED",
        fmt::format("no {} classifier is configured; set {} to the directory of one", type,
                    purpose->key)});
  }
  Classifier classifier;
  classifier.type = purpose->type;
  const models::Models& models = state.router->models();
  const auto& used = models.classifiers;
  if (const auto found = used.find(directory); found != used.end()) {
    classifier.model = found->second;
    directory = models.answering(directory);
  } else {
    if (state.config().missing_models == config::MissingModels::kStandIn)
      directory = models::present_or_stand_in(type, directory);
    auto opened = state.shelf.get(directory);
    if (!opened) return unusable_model(purpose->key, opened.error());
    classifier.model = *std::move(opened);
  }
  const config::Modules& modules = state.config().modules;
  const config::ClassifierModel* of_task = config::module_of(modules, type);
  const config::ClassifierModel& module =
      of_task != nullptr ? *of_task : modules.hallucination_mitigation.explainer;
  auto head =
      signals::choose_head(*classifier.model, directory, purpose->kind, module.mapping_path);
  if (!head) return unusable_model(purpose->key, head.error());
  classifier.head = *std::move(head);
  classifier.threshold = module.threshold > 0 ? module.threshold : purpose->threshold;
  return classifier;
}

OrFailure<std::vector<Classes>> classify(const Classifier& classifier,
                                         std::span<const engine::Input> inputs) {
  const auto answers = classifier.model->answer_within({}, inputs);
  if (!answers) return tl::unexpected<access::Failure>(model_failure(answers.error()));
  const size_t heads = classifier.model->heads().size();
  std::vector<Classes> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    SIGNALBOX_OR_FAIL(Classes classes,
                      likeliest((*answers)[i * heads + classifier.head.head].scores));
    all.push_back(std::move(classes));
  }
  return all;
}

OrFailure<std::vector<Classes>> classify_texts(const serving::ServingState& state,
                                               const Classifier& classifier,
                                               std::span<const std::string_view> texts) {
  const signals::Compression compression(state.config().modules.prompt_compression);
  std::list<compress::Skeleton> skeletons;
  std::vector<std::string_view> read(texts.begin(), texts.end());
  const bool compresses = compression.concerns(classifier.type);
  for (std::string_view& text : read) {
    auto skeleton = compresses ? compression.shorten(text) : std::nullopt;
    if (skeleton) text = skeletons.emplace_back(*std::move(skeleton)).text;
  }
  // A server gets the windows one after the other, and each call has a time limit of its own.
  engine::Patience patience;
  if (classifier.head.calls_server())
    patience.deadline = std::chrono::steady_clock::now() + state.config().http.decision_timeout;
  const auto run_windows = [&](std::span<const std::string_view> windows) {
    std::vector<engine::Input> inputs;
    for (const std::string_view window : windows) inputs.push_back({.text = window});
    return classifier.model->answer_within(patience, inputs);
  };
  const auto results = signals::text_classes(*classifier.model, read, run_windows);
  if (!results) return tl::unexpected<access::Failure>(model_failure(results.error()));
  const size_t heads = classifier.model->heads().size();
  std::vector<Classes> all;
  for (size_t i = 0; i < read.size(); ++i) {
    const std::vector<float>& scores = (*results)[i * heads + classifier.head.head];
    if (scores.empty()) {  // no token: the class of the empty text
      const engine::Input input{.text = read[i]};
      SIGNALBOX_OR_FAIL(const auto alone, classify(classifier, {&input, 1}));
      all.push_back(alone.front());
      continue;
    }
    SIGNALBOX_OR_FAIL(Classes classes, likeliest(scores));
    all.push_back(std::move(classes));
  }
  return all;
}

tl::unexpected<access::Failure> unusable_model(std::string_view key, const Error& why) {
  static std::mutex mutex;
  static std::string last;
  std::string line = fmt::format("{}: {}", key, why.message);
  const std::lock_guard lock(mutex);
  if (line != last) log::warn("api", "{}", line);
  last = std::move(line);
  return tl::unexpected<access::Failure>(
      access::Failure{503, "MODEL_NOT_AVAILABLE",
                      fmt::format("{}: cannot be used; the router's log has the reason", key)});
}

access::Failure model_failure(const Error& error) {
  if (error.code == Code::kOverloaded) return {429, "OVERLOADED", error.message};
  return {500, "CLASSIFICATION_ERROR", error.message};
}

void write_probabilities(json::Writer& out, const Classifier& classifier, const Classes& classes) {
  out.key("probabilities").begin_object();
  for (size_t i = 0; i < classes.scores.size(); ++i)
    out.member(classifier.head.labels[i], classes.scores[i]);
  out.end_object();
}

}  // namespace signalbox::admin
