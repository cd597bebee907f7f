#pragma once
// The signals of a routing that a language model on a server decides.

#include <optional>
#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/models/remote_classifier.h"

namespace signalbox::models {

/// A question and the server that answers it.
struct Judge {
  std::string key;      // in Models::classifiers
  std::string used_by;  // such as: classifier signal "risk"
  const config::ExternalModel* server = nullptr;
  RemoteQuestion question = {};
  std::string why = {};        // the reason why nobody answers; "" if there is a server
  bool is_classifier = false;  // the server returns scores (http_classify) and gets no question
  bool is_system_one = false;  // it gets a typed question and returns probabilities
  uint32_t limit_ms = 0;       // of a call; 0: that of the server
  std::string without = "no condition on it matches";  // what follows if nobody answers
};

/// The labels by which a judge compares two answers; a third one is neither.
inline constexpr std::string_view kShadowAgrees = "agree", kShadowContradicts = "contradict";
/// The key of the judge of shadows on a server.
std::string shadow_judge_key(std::string_view server);

/// Returns the judge of a question that is not unbuilt.
Judge judge_of(const config::Config& config, const config::Routing& routing,
               const config::QuestionSignal& signal);
/// Returns the judge of a classifier signal whose model is on a server.
Judge judge_of(const config::Config& config, const config::Routing& routing,
               const config::ClassifierSignal& signal);
/// Returns the judge of the preferences; nullopt if there are none, or the embedder compares them.
std::optional<Judge> preference_judge(const config::Config& config, const config::Routing& routing);
/// Returns all judges of the routing.
std::vector<Judge> judges_of(const config::Config& config, const config::Routing& routing);

}  // namespace signalbox::models
