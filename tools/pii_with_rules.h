#pragma once
// Joins the personal data that a model finds with the findings of the rules, as the router does.

#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/safety/pii/rules.h"

namespace signalbox::tools {

/// Returns spans in text order that do not overlap. Types are in upper case, as the rules write
/// them.
std::vector<pii::PiiEntity> with_rules(std::string_view text,
                                       const std::vector<engine::Entity>& marked);

}  // namespace signalbox::tools
