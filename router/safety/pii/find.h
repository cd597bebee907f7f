#pragma once
// Finds personal data in one text by rules and a model.

#include <string_view>
#include <vector>

#include "router/safety/pii/rules.h"

namespace signalbox::pii {

/// Merges what rules find with the model's findings (merge.h), in the order of the text. A finding
/// of the model counts only if it has its type's form (form.h). A name that was found once is
/// marked wherever it recurs, a person's last name also alone.
std::vector<PiiEntity> find_pii(std::string_view text, std::vector<PiiEntity> model);

}  // namespace signalbox::pii
