#pragma once
// `workflows`: the steps of a plan, each by one or several models, and a last step that writes the
// answer.

#include <memory>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

std::unique_ptr<const Algorithm> workflows(const config::Decision& decision,
                                           std::vector<Voice> voices, Conversation conversation);

/// Errors: kInvalid for a plan that cannot be carried out, with the name of the key.
Result<void> check_workflows(const config::Decision& decision);

}  // namespace signalbox::looper
