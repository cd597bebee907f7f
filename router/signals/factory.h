#pragma once
// Creates all signals of a routing. A new type needs its own file, a declaration in types.h and a
// line here.

#include "router/config/config.h"
#include "router/models/models.h"
#include "router/signals/signal.h"
#include "router/signals/types.h"

namespace signalbox::signals {

/// Creates one SignalType for each type that the routing declares signals of, or that conditions
/// may use without declared signals. Signals whose model is missing are created as unavailable.
/// Embeds all examples, which takes some hundred milliseconds. Errors name the signal. The
/// configuration and the models must outlive the result.
Result<SignalTypes> make_signals(const config::Config& config, const config::Routing& routing,
                                 const models::Models& models);

/// Returns the classifier behind a signal type (domain, pii), whether or not signals of it exist,
/// or the reason why there is none. kInvalid if the model does not do what the type needs.
Result<ModelChoice> classifier_of(const config::Config& config, const models::Models& models,
                                  std::string_view type);

/// Returns the first head of that kind. If the labels of a sequence head are placeholders
/// ("LABEL_3") and `mapping` is set, that file provides their names. Errors: kInvalid if the model
/// has no such head, if the scores of a sequence head are not probabilities, or if `mapping` is set
/// for a token head with placeholder labels, because the model parsed those labels as span tags
/// when it was opened; also the errors of reading the file.
Result<ModelChoice> choose_head(const engine::TextModel& model, std::string_view directory,
                                engine::HeadKind kind, const std::string& mapping);

}  // namespace signalbox::signals
