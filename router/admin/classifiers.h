#pragma once
// What the classification API stands on: its requests as JSON with limits, the models of a
// configuration by what they are for, and their answers.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "router/admin/management.h"
#include "router/signals/types.h"

namespace signalbox::admin {

template <class T>
using OrFailure = tl::expected<T, access::Failure>;

/// A wrong request: 400 with INVALID_INPUT.
tl::unexpected<access::Failure> invalid(std::string message);

/// The body as a JSON object.
OrFailure<json::Document> read_body(const http::Request& request);

// Members of an object; without one, the default. Errors name the member.
OrFailure<std::string_view> text_member(const json::Value& object,
                                        std::string_view key);  // required
OrFailure<std::vector<std::string_view>> texts_member(const json::Value& object,
                                                      std::string_view key, size_t count_max);
OrFailure<bool> flag_member(const json::Value& object, std::string_view key);
OrFailure<double> share_member(const json::Value& object, std::string_view key, double otherwise);
OrFailure<int64_t> count_member(const json::Value& object, std::string_view key, int64_t max);
/// The member `options`, or the object itself when it has none, so that it need not be asked for.
OrFailure<json::Value> options_of(const json::Value& root);

/// A model with the head that was asked for; keeps it alive.
struct Classifier {
  std::string_view type;  // of signals; lives forever
  std::shared_ptr<const engine::TextModel> model;
  signals::ModelChoice head;
  double threshold = 0;
};

/// The classifier behind a type of signals ("domain", "jailbreak", "pii", "fact_check",
/// "user_feedback") or "nli", opened if no signal needed it so far. Failures: 503 with
/// CLASSIFIER_NOT_CONFIGURED naming the key to set, MODEL_NOT_AVAILABLE for one that cannot be
/// opened.
OrFailure<Classifier> find_classifier(const serving::ServingState& state, std::string_view type);

/// The scores of a sequence classifier, and the best.
struct Classes {
  std::vector<float> scores;  // as classifier.head.labels
  size_t best = 0;
};
OrFailure<std::vector<Classes>> classify(const Classifier& classifier,
                                         std::span<const engine::Input> inputs);
/// The same of texts as signals of the classifier's type read them: a long one in windows, or its
/// skeleton where the configuration says so.
OrFailure<std::vector<Classes>> classify_texts(const serving::ServingState& state,
                                               const Classifier& classifier,
                                               std::span<const std::string_view> texts);

/// A failure of a model: 500 with CLASSIFICATION_ERROR, 429 when its queue is full.
access::Failure model_failure(const Error& error);

/// Milliseconds since it was made.
class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// "probabilities": {label: score}
void write_probabilities(json::Writer& out, const Classifier& classifier, const Classes& classes);

}  // namespace signalbox::admin

/// Takes the value of an OrFailure, or returns its failure as the caller's.
#define SIGNALBOX_OR_FAIL(target, expression)                     \
  auto SIGNALBOX_CONCAT(outcome_, __LINE__) = (expression);       \
  if (!SIGNALBOX_CONCAT(outcome_, __LINE__))                      \
    return ::tl::unexpected<::signalbox::access::Failure>(        \
        std::move(SIGNALBOX_CONCAT(outcome_, __LINE__)).error()); \
  target = *std::move(SIGNALBOX_CONCAT(outcome_, __LINE__))
