#pragma once
// Opens a model that checks answers against contexts, as a command's options name it.

#include "router/safety/grounding/grounding.h"
#include "tools/options.h"

namespace signalbox::tools {

/// Opens the model and selects the named head, or its first head of the kind. Returns an empty
/// value if `choice` names no model. Errors: those of opening; kInvalid with the available heads.
Result<grounding::Model> open_grounding_model(const ModelChoice& choice, engine::HeadKind kind);

}  // namespace signalbox::tools
