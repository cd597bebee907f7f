#pragma once
// The algorithm `cascade`: the stages of a decision answer a request of System One in turn.

#include <memory>
#include <string>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

/// `task` is the request, which read_questions() must have accepted. A stage whose model is not one
/// of the voices is left out, and so is a judge before there is a whole answer. A call that fails,
/// or an answer that is not accepted, leads to the next stage.
std::unique_ptr<const Algorithm> stages(const config::Decision& decision,
                                        const std::vector<Voice>& voices, std::string task);

}  // namespace signalbox::looper
