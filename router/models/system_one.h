#pragma once
// Decision models on a server, which answer typed questions about a text with a probability for
// each answer (POST /v1/systemone).

#include "router/models/remote_classifier.h"

namespace signalbox::models {

/// Returns a model with one head over the question's labels. `limit` is that of a call; 0: that of
/// the server.
Result<std::shared_ptr<const engine::TextModel>> open_system_one(
    const config::ExternalModel& server, RemoteQuestion question, std::chrono::milliseconds limit);

/// Returns the body of a call.
std::string system_one_body(const config::ExternalModel& server, const RemoteQuestion& question,
                            std::string_view text);

/// Reads the body of a reply to scores, (labels). Every label must have a probability from 0 to 1.
/// Error: kUpstream.
Result<std::vector<float>> read_system_one(std::string body, const RemoteQuestion& question);

}  // namespace signalbox::models
