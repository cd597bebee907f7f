#pragma once
// From an outcome to a plan: the model, and the edits of the client's bytes.

#include "router/router.h"

namespace signalbox::router {

/// For a client that named a concrete model. kNotFound when there is none of that name.
Result<Plan> plan_bypass(const config::Config& config, const ChatRequest& request);

/// For the decision, or for none (nullptr). kUnsupported when it needs a plugin that is not built.
Result<Plan> plan_routed(const config::Config& config, const ChatRequest& request,
                         const config::Decision* decision, double confidence);

}  // namespace signalbox::router
