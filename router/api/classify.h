#pragma once
// POST /api/v1/classify/* and /api/v1/nli: what the router's classifiers say of a text, without
// calling a model behind. Positions count code points.

#include "router/api/classifiers.h"
#include "router/guard/pii_rules.h"

namespace signalbox::api {

/// `live` and `pool`, whose threads run the models, outlive the routes.
std::vector<Route> classify_routes(const router::Live& live, Compute& pool);

// What the routes are made of, a JSON object each; combined and batch put several together.

/// Begins an object with the model and the messages of a chat request: `messages` as JSON, or ""
/// for `text` as the user's only one. `model` "": an automatic name.
void begin_chat(json::Writer& out, const router::State& state, std::string_view model,
                std::string_view text, std::string_view messages);

struct IntentOptions {
  bool probabilities = false;
  bool every_signal = false;
  double threshold = 0;  // 0: the configuration's
};
/// The domain classifier's class; without one, the category of the decision that the routing comes
/// to. `messages` is a JSON array, or "" for `text` as the only one.
Outcome<std::string> intent_of(const router::State& state, std::string_view text,
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
Outcome<std::vector<router::PiiEntity>> find_pii(const router::State& state, std::string_view text,
                                                 const PiiOptions& options);
Outcome<std::string> pii_of(const router::State& state, std::string_view text,
                            const PiiOptions& options);

struct Risk {
  double score = 0;
  bool is_jailbreak = false;
  std::string label;  // of the class that counts as an attempt
};
Outcome<Risk> find_risk(const router::State& state, std::string_view text);
Outcome<std::string> security_of(const router::State& state, std::string_view text,
                                 bool with_reasoning);

/// Routes of classify_guard.cc and classify_batch.cc.
Answer answer_pii(const http::Request& request, const router::State& state);
Answer answer_security(const http::Request& request, const router::State& state);
Answer answer_combined(const http::Request& request, const router::State& state);
Answer answer_batch(const http::Request& request, const router::State& state);

/// 200 with the body, or the failure.
Answer answer_of(const Outcome<std::string>& outcome);

}  // namespace signalbox::api
