#pragma once
// `prompt`: one model chooses which of the others answers.

#include <memory>
#include <span>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

/// `cards` describe the models; they are only read here.
std::unique_ptr<const Algorithm> prompt_choice(const config::Algorithm& algorithm,
                                               std::vector<Voice> voices, Conversation conversation,
                                               std::span<const config::ModelCard> cards);

}  // namespace signalbox::looper
