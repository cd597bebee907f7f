#pragma once
// The base of the classification API: its JSON requests with limits, the configured models by
// purpose, and their results.

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "router/admin/management.h"
#include "router/signals/types.h"

namespace signalbox::admin {

template <class T>
using OrFailure = tl::expected<T, access::Failure>;

/// Returns a failure for an invalid request: 400 with INVALID_INPUT.
tl::unexpected<access::Failure> invalid(std::string message);

/// Parses the body as a JSON object.
OrFailure<json::Document> read_body(const http::Request& request);

// Read a member of an object; if it is missing, they return the default. Errors contain the
// member's name.
OrFailure<std::string_view> text_member(const json::Value& object,
                                        std::string_view key);  // required
OrFailure<std::vector<std::string_view>> texts_member(const json::Value& object,
                                                      std::string_view key, size_t count_max);
OrFailure<bool> flag_member(const json::Value& object, std::string_view key);
OrFailure<double> share_member(const json::Value& object, std::string_view key, double otherwise);
OrFailure<int64_t> count_member(const json::Value& object, std::string_view key, int64_t max);
/// Returns the member `options`, or the object itself if it has none, so that callers may omit it.
OrFailure<json::Value> options_of(const json::Value& root);

/// A model and the head for one purpose. It keeps the model alive.
struct Classifier {
  std::string_view type;  // of the signals; static
  std::shared_ptr<const engine::TextModel> model;
  signals::ModelChoice head;
  double threshold = 0;
};

/// Returns the classifier for a signal type ("domain", "jailbreak", "pii", "fact_check",
/// "user_feedback") or for "nli", and opens it if no signal uses it. Failures: 503 with
/// CLASSIFIER_NOT_CONFIGURED and the key to set, or MODEL_NOT_AVAILABLE if it cannot be opened.
OrFailure<Classifier> find_classifier(const serving::ServingState& state, std::string_view type);

/// The scores of a sequence classifier and the best class.
struct Classes {
  std::vector<float> scores;  // in the order of classifier.head.labels
  size_t best = 0;
};
OrFailure<std::vector<Classes>> classify(const Classifier& classifier,
                                         std::span<const engine::Input> inputs);
/// Classifies texts as signals of the classifier's type do: a long text in windows, or compressed
/// if the configuration enables that.
OrFailure<std::vector<Classes>> classify_texts(const serving::ServingState& state,
                                               const Classifier& classifier,
                                               std::span<const std::string_view> texts);

/// Returns the failure for a model that cannot be opened: 503 with MODEL_NOT_AVAILABLE and the key
/// that names it. The error may quote files that the caller must not see, so only the log has it,
/// once for equal errors in a row.
tl::unexpected<access::Failure> unusable_model(std::string_view key, const Error& why);

/// Returns the failure for a model's error: 500 with CLASSIFICATION_ERROR, or 429 if its queue is
/// full.
access::Failure model_failure(const Error& error);

/// Measures milliseconds since its construction.
class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Writes "probabilities": {label: score}.
void write_probabilities(json::Writer& out, const Classifier& classifier, const Classes& classes);

/// Returns "keywords" for "keyword", or the type itself if the configuration has no other name for
/// its signals.
inline std::string_view plural(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames = {{
      {"keyword", "keywords"},
      {"embedding", "embeddings"},
      {"domain", "domains"},
      {"user_feedback", "user_feedbacks"},
      {"preference", "preferences"},
      {"reask", "reasks"},
      {"intent", "intents"},
      {"classifier", "classifiers"},
      {"event", "events"},
      {"projection", "projections"},
  }};
  for (const auto& [one, many] : kNames) {
    if (one == type) return many;
  }
  return type;
}

}  // namespace signalbox::admin

/// Assigns the value of an OrFailure, or returns its failure from the calling function.
#define SIGNALBOX_OR_FAIL(target, expression)                     \
  auto SIGNALBOX_CONCAT(outcome_, __LINE__) = (expression);       \
  if (!SIGNALBOX_CONCAT(outcome_, __LINE__))                      \
    return ::tl::unexpected<::signalbox::access::Failure>(        \
        std::move(SIGNALBOX_CONCAT(outcome_, __LINE__)).error()); \
  target = *std::move(SIGNALBOX_CONCAT(outcome_, __LINE__))
