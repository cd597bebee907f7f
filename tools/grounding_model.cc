// An adapter can have heads of both kinds. The head that tags the tokens of an answer differs from
// the one that performs inference, so the kind is a parameter.

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
