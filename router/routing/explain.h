#pragma once
// Explains why a request was routed as it was: for programs as JSON, for people as text.

#include <string>
#include <string_view>
#include <vector>

#include "router/routing/decision/engine.h"
#include "router/routing/decision/leaf_values.h"
#include "router/signals/signal.h"

namespace signalbox::routing {

/// The signals of one type, with their readings if they were computed.
struct TypeReport {
  const signals::SignalType* signals;
  uint32_t first;  // number of its first signal
  bool computed;
  bool moot;                                    // the request has nothing for them to evaluate
  bool failed;                                  // the model failed
  std::span<const signals::Reading> readings;   // (signals->size())
  std::span<const signals::Evidence> evidence;  // of this type
};

struct Report {
  const config::Routing* routing;
  const decision::Engine* engine;
  const decision::LeafValues* leaf_values;
  std::vector<TypeReport> types;
  std::vector<decision::Value> signals;  // by number, one type after the other
  std::vector<decision::Value> values;   // of the engine's nodes
  std::vector<decision::Bounds> scores;  // of the projections
  decision::Outcome outcome;
  int32_t masking;         // the decision that masks a request which names its model
  std::string_view named;  // that model; "": the decisions choose one
};

/// {"signals": {TYPE: {NAME: {...}}}, "trace": [decisions, best rank first]}
std::string explain_json(const Report& report);

/// Several lines; the last one has no line feed.
std::string explain_words(const Report& report);

}  // namespace signalbox::routing
