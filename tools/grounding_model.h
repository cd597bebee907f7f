#pragma once
// A model that checks answers against contexts, as a command's options name it.

#include "router/safety/grounding/grounding.h"
#include "tools/options.h"

namespace signalbox::tools {

/// Opened, with the head of it that is named, or its first of the kind; nothing where `choice`
/// names no model. Errors are those of opening, and kInvalid with what heads there are.
Result<grounding::Model> open_grounding_model(const ModelChoice& choice, engine::HeadKind kind);

}  // namespace signalbox::tools
