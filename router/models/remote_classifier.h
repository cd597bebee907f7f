#pragma once
// A classifier that is a language model on a server: it gets a text as data with a question about
// it, and must answer with one of the labels.

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/catalog.h"

namespace signalbox::models {

/// The form of a request about a text, and of the reply to it.
struct RemoteProtocol {
  std::string target;               // path
  std::vector<std::string> labels;  // of the head
  engine::HeadKind kind = engine::HeadKind::kSequence;
  size_t window_bytes = 0;             // the length of a text that the server reads whole
  std::chrono::milliseconds limit{0};  // of a call; 0: that of the server
  std::function<std::string(const engine::Input& input)> write;  // the body of a call
  /// The answer of the head to a text. Errors: kUpstream, without parts of the text or the reply.
  std::function<Result<engine::Answer>(std::string body, const engine::Input& input)> read;
};

/// Returns a model with one head over the labels. It calls POST on the server for each
/// text and keeps the last 4,096 answers by text. Calls block; they end at the server's time limit
/// or at the caller's deadline. After three failures of the server in a row it fails at once for a
/// second, then tries one call. An invalid answer is not a failure of the server. Errors of a text:
/// kUpstream, kDeadline; kTooLarge for more than 256 KB. Errors contain neither the text nor the
/// reply. Error here: kInvalid for a server without an address.
Result<std::shared_ptr<const engine::TextModel>> open_remote(const config::ExternalModel& server,
                                                             RemoteProtocol protocol);

/// The question about a text.
struct RemoteQuestion {
  /// kYesNo: the labels are yes and no. kScore: they are levels, the lowest first.
  enum class Kind : uint8_t { kChoice, kYesNo, kScore };
  std::string instructions;           // how to choose a label; may be empty
  std::vector<std::string> labels;    // at least two
  std::vector<std::string> meanings;  // (labels), each may be empty; or none at all
  Kind kind = Kind::kChoice;
};

/// The same for a language model that chooses one of the labels. It calls /v1/chat/completions and
/// reads windows of 32 KB.
Result<std::shared_ptr<const engine::TextModel>> open_remote_classifier(
    const config::ExternalModel& server, RemoteQuestion question);

/// Returns the body of a call.
std::string remote_question_body(const config::ExternalModel& server,
                                 const RemoteQuestion& question, std::string_view text);

/// Reads the body of a reply to scores, (labels). The content must be a label, in any case, with
/// white space, quotes or a full stop around it; or a JSON object {"label", "confidence": 0 to 1?}.
/// Either may stand in a fence (```json) and behind thoughts that end with </think>. The confidence
/// is 1 if the server states none; the other labels have 0. Error: kUpstream.
Result<std::vector<float>> read_remote_label(std::string body, std::span<const std::string> labels);

}  // namespace signalbox::models
