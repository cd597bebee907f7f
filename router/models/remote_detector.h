#pragma once
// The detector of unsupported text that is a language model on a server: it gets a context and an
// answer, and quotes the parts of the answer that the context does not support.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"

namespace signalbox::models {

/// The server that the configuration names; nullopt if a model here examines replies.
std::optional<config::ExternalModel> detector_server(const config::Config& config);

/// Returns a model with one head, which marks the words of the second text of a pair as "supported"
/// or "hallucinated" by the first one. It calls OpenAI's chat completions. Limits, the pause after
/// failures and the answers that are kept are those of open_remote_classifier(). Errors of a pair:
/// kUpstream, kDeadline, kTooLarge; they contain neither the texts nor the reply. Error here:
/// kInvalid for a server without an address.
Result<std::shared_ptr<const engine::TextModel>> open_remote_detector(
    const config::ExternalModel& server);

/// Returns the body of a call.
std::string detector_body(const config::ExternalModel& server, std::string_view context,
                          std::string_view answer);

/// Reads the body of a reply to the words of `answer`, with the scores of "supported" and
/// "hallucinated". The content must be {"hallucinated_spans": [{"text"}, ...]}, also in a fence or
/// behind thoughts. Every place of a text in the answer is marked. A text that is not in the answer
/// is left out; if all are, or if there are more than 256, the reply is an error: kUpstream.
Result<std::vector<engine::TokenScores>> read_detected(std::string body, std::string_view answer);

}  // namespace signalbox::models
