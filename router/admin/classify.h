#pragma once
// POST /api/v1/classify/* and /api/v1/nli: what the router's classifiers say of a text, without
// calling a model behind. Positions count code points.

#include "router/admin/classifiers.h"
#include "router/safety/pii/rules.h"

namespace signalbox::admin {

/// `live` and `pool`, whose threads run the models, outlive the routes.
std::vector<gateway::Route> classify_routes(const serving::CurrentState& live,
                                            gateway::ThreadPool& pool);

// What the routes are made of, a JSON object each; combined and batch put several together.

/// Begins an object with the model and the messages of a chat request: `messages` as JSON, or ""
/// for `text` as the user's only one. `model` "": an automatic name.
void begin_chat(json::Writer& out, const serving::ServingState& state, std::string_view model,
                std::string_view text, std::string_view messages);

struct IntentOptions {
  bool probabilities = false;
  bool every_signal = false;
  double threshold = 0;  // 0: the configuration's
};
/// The domain classifier's class; without one, the category of the decision that the routing comes
/// to. `messages` is a JSON array, or "" for `text` as the only one.
OrFailure<std::string> intent_of(const serving::ServingState& state, std::string_view text,
                                 std::string_view messages, const IntentOptions& options);

struct PiiOptions {
  std::vector<std::string_view> types = {};  // empty: all
  double threshold = 0;
  bool positions = false;
  bool masks = false;
  bool reveals = false;
};
/// By rules and by the model; by rules alone, with a model or without, where they can check every
/// type that is asked for.
OrFailure<std::vector<pii::PiiEntity>> find_pii(const serving::ServingState& state,
                                                std::string_view text, const PiiOptions& options);
OrFailure<std::string> pii_of(const serving::ServingState& state, std::string_view text,
                              const PiiOptions& options);

struct Risk {
  double score = 0;
  bool is_jailbreak = false;
  std::string label;  // of the class that counts as an attempt
};
OrFailure<Risk> find_risk(const serving::ServingState& state, std::string_view text);
OrFailure<std::string> security_of(const serving::ServingState& state, std::string_view text,
                                   bool with_reasoning);

/// Routes of classify_guard.cc and classify_batch.cc.
AdminReply answer_pii(const http::Request& request, const serving::ServingState& state);
AdminReply answer_security(const http::Request& request, const serving::ServingState& state);
AdminReply answer_combined(const http::Request& request, const serving::ServingState& state);
AdminReply answer_batch(const http::Request& request, const serving::ServingState& state);

/// 200 with the body, or the failure.
AdminReply answer_of(const OrFailure<std::string>& outcome);

}  // namespace signalbox::admin
