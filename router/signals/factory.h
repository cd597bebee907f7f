#pragma once
// All signals of a routing. A new type has its own file, a declaration in types.h and a line here.

#include "router/config/config.h"
#include "router/models.h"
#include "router/signals/signal.h"

namespace signalbox::router {

/// One SignalType for each type that the routing has signals of, or whose names conditions may ask
/// for without. Signals that lack a model are there and say that they are unavailable. Embeds all
/// examples, which takes some hundred milliseconds. Errors name the signal. The configuration and
/// the models outlive the result.
Result<SignalTypes> make_signals(const config::Config& config, const config::Routing& routing,
                                 const Models& models);

}  // namespace signalbox::router
