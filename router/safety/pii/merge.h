#pragma once
// What rules and a model have found in one text, made one list.

#include <string_view>
#include <vector>

#include "router/safety/pii/rules.h"

namespace signalbox::pii {

/// A model has its way with what is not checked (a phone number, a date) from this score on.
inline constexpr double kPiiModelSure = 0.5;

/// In order, not overlapping, each saying who found it. What a rule has checked keeps its type and
/// its extent (is_checked_pii()), and what of its type overlaps it is taken for the same thing.
/// Elsewhere a model that is sure decides what something is if it has marked the whole of what a
/// rule has found, which then has the higher of both scores; else the rule's stays whole, and two
/// of one type become one that covers both. Of two findings of the model itself, as two windows
/// have them, the surer stays. Of what overlaps in part the rest stays found, from three bytes on.
/// Names of the model with nothing but a space between them become one, as sure as the surest.
/// A line break ends what a model has found, unless it is an address: models that see no white
/// space take the lines of a signature for one name. `rules` is find_pii_by_rules()'s of `text`; of
/// the model any order.
std::vector<PiiEntity> merge_pii(std::string_view text, std::vector<PiiEntity> rules,
                                 std::vector<PiiEntity> model);

}  // namespace signalbox::pii
