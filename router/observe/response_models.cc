// Names are never removed, so a label may be a view of one.

#include "router/observe/response_models.h"

namespace signalbox::observe {
namespace {

constexpr std::string_view kOther = "other";

}  // namespace

std::string_view ResponseModels::label(const std::string& model, std::string_view name) {
  if (name.empty() || name == model) return name;
  const std::lock_guard lock(mutex_);
  auto found = names_.find(model);
  if (found == names_.end()) {
    if (names_.size() == kModelsMax) return kOther;
    found = names_.try_emplace(model).first;
  }
  auto& names = found->second;
  if (const auto known = names.find(name); known != names.end()) return *known;
  return names.size() == kNamesMax ? kOther : *names.emplace(name).first;
}

}  // namespace signalbox::observe
