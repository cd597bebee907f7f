// An adapter has heads of both kinds: the one that tags an answer's tokens is not the one that
// infers.

#include "tools/grounding_model.h"

namespace signalbox::tools {

Result<grounding::Model> open_grounding_model(const ModelChoice& choice, engine::HeadKind kind) {
  grounding::Model out;
  if (choice.model.empty()) return out;
  SIGNALBOX_TRY(out.model, open_model(choice));
  SIGNALBOX_TRY(out.head, chosen_head(choice, *out.model, kind));
  return out;
}

}  // namespace signalbox::tools
