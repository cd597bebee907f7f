#pragma once
// All signals of a routing. A new type has its own file, a declaration in types.h and a line here.

#include "router/config/config.h"
#include "router/models/models.h"
#include "router/signals/signal.h"
#include "router/signals/types.h"

namespace signalbox::signals {

/// One SignalType for each type that the routing has signals of, or whose names conditions may ask
/// for without. Signals that lack a model are there and say that they are unavailable. Embeds all
/// examples, which takes some hundred milliseconds. Errors name the signal. The configuration and
/// the models outlive the result.
Result<SignalTypes> make_signals(const config::Config& config, const config::Routing& routing,
                                 const models::Models& models);

/// The classifier behind the signals of a type (domain, pii), whether or not there are any; or why
/// there is none. kInvalid for a model that does not do what the type needs.
Result<ModelChoice> classifier_of(const config::Config& config, const models::Models& models,
                                  std::string_view type);

/// The first head of that kind. Labels of texts that say nothing ("LABEL_3") are named by the file
/// `mapping` when there is one. Errors: kInvalid for a model without such a head, for one whose
/// scores of texts are no probabilities, for `mapping` where labels of tokens say nothing, since
/// they have been read as parts of spans by then; those of the file.
Result<ModelChoice> choose_head(const engine::TextModel& model, std::string_view directory,
                                engine::HeadKind kind, const std::string& mapping);

}  // namespace signalbox::signals
