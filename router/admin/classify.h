#pragma once
// POST /api/v1/classify/* and /api/v1/nli: the results of the router's classifiers for a text,
// without a call of a model server. Positions count code points.

#include "router/admin/classifiers.h"
#include "router/safety/pii/rules.h"
#include "router/signals/jailbreak_windows.h"

namespace signalbox::admin {

/// `current` and `pool`, whose threads run the models, must outlive the routes.
std::vector<http::Route> classify_routes(const serving::CurrentState& current,
                                         http::ThreadPool& pool);

// The parts of the routes; each returns a JSON object. The combined and batch routes assemble
// several.

/// Begins an object with the model and the messages of a chat request. `messages` is JSON, or "" to
/// use `text` as the only user message. If `model` is "", an automatic model name is used.
void begin_chat(json::Writer& out, const serving::ServingState& state, std::string_view model,
                std::string_view text, std::string_view messages);

struct IntentOptions {
  bool probabilities = false;
  bool every_signal = false;
  double threshold = 0;  // 0: the configuration's threshold
};
/// Returns the class of the domain classifier or, without one, the category of the decision that
/// routing reaches. `messages` is a JSON array, or "" to use `text` as the only message.
OrFailure<std::string> intent_of(const serving::ServingState& state, std::string_view text,
                                 std::string_view messages, const IntentOptions& options);

struct PiiOptions {
  std::vector<std::string_view> types = {};  // empty: all types
  double threshold = 0;
  bool positions = false;
  bool masks = false;
  bool reveals = false;
};
/// Finds personal data by rules and by the model. If rules can check every requested type, it uses
/// rules alone, even if there is a model.
OrFailure<std::vector<pii::PiiEntity>> find_pii(const serving::ServingState& state,
                                                std::string_view text, const PiiOptions& options);
OrFailure<std::string> pii_of(const serving::ServingState& state, std::string_view text,
                              const PiiOptions& options);

struct Risk {
  double score = 0;
  bool is_jailbreak = false;
  std::string label;                           // the class that counts as an attempt
  std::string_view unsupported_language = {};  // of a text without an attempt; static
};
OrFailure<Risk> find_risk(const serving::ServingState& state, std::string_view text,
                          signals::TextKind kind);
OrFailure<std::string> security_of(const serving::ServingState& state, std::string_view text,
                                   signals::TextKind kind, bool with_reasoning);

/// The routes of classify_guard.cc and classify_batch.cc.
AdminReply answer_pii(const http::Request& request, const serving::ServingState& state);
AdminReply answer_security(const http::Request& request, const serving::ServingState& state);
AdminReply answer_combined(const http::Request& request, const serving::ServingState& state);
AdminReply answer_batch(const http::Request& request, const serving::ServingState& state);

/// Returns 200 with the body, or the failure.
AdminReply answer_of(const OrFailure<std::string>& outcome);

}  // namespace signalbox::admin
