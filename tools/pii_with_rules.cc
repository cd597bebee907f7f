// Converts the model's types to upper case as the rules write them; otherwise the two would never
// match.

#include "tools/pii_with_rules.h"

#include "base/ascii.h"
#include "router/safety/pii/find.h"
#include "router/signals/pii_finder.h"

namespace signalbox::tools {

std::vector<pii::PiiEntity> with_rules(std::string_view text,
                                       const std::vector<engine::Entity>& marked) {
  std::vector<pii::PiiEntity> model;
  for (const engine::Entity& entity : marked) {
    model.push_back({ascii::upper_case(entity.type), entity.begin, entity.end,
                     static_cast<double>(entity.score), pii::PiiSource::kModel});
  }
  return pii::find_pii(text, std::move(model));
}

}  // namespace signalbox::tools
