#pragma once
// What a model marks as personal data, joined with what rules find: as the router does it.

#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/safety/pii/rules.h"

namespace signalbox::tools {

/// In order, not overlapping; types are in upper case as those of the rules are.
std::vector<pii::PiiEntity> with_rules(std::string_view text,
                                       const std::vector<engine::Entity>& marked);

}  // namespace signalbox::tools
