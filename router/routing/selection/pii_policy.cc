// With allow_by_default every type is allowed, listed or not.

#include "router/routing/selection/pii_policy.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::selection {

bool restricts(const config::Model& model) {
  return model.pii_policy && !model.pii_policy->allow_by_default;
}

std::vector<std::string> denied_types(const config::Model& model,
                                      std::span<const std::string> found) {
  std::vector<std::string> denied;
  if (!restricts(model)) return denied;
  const auto& allowed = model.pii_policy->pii_types_allowed;
  for (const std::string& type : found) {
    const bool is_allowed =
        std::any_of(allowed.begin(), allowed.end(),
                    [&](const std::string& each) { return ascii::iequals(each, type); });
    if (!is_allowed) denied.push_back(type);
  }
  return denied;
}

}  // namespace signalbox::selection
