#pragma once
// Merges the findings of the rules and of a model in one text into one list.

#include <string_view>
#include <vector>

#include "router/safety/pii/rules.h"

namespace signalbox::pii {

/// From this score on, a model overrules findings that are not checked (a phone number, a date).
inline constexpr double kPiiModelSure = 0.5;

/// Returns findings in order, without overlaps, each with its source. A finding that a rule has
/// checked keeps its type and its extent (is_checked_pii()); overlapping findings of its type are
/// taken for the same thing. Otherwise a sure model decides on the type if it has marked the whole
/// of a rule's finding, which then gets the higher of both scores. If not, the rule's finding stays
/// whole, and two findings of one type become one that covers both. If overlapping windows of the
/// model give two findings, the surer one stays. If findings overlap in part, the
/// remaining part stays too if it has at least three bytes. Names from the model that only a space
/// separates become one, with the highest score. A line break ends a finding of the model unless it
/// is an address, because models that see no white space take the lines of a signature for one
/// name. `rules` is
/// find_pii_by_rules(text); `model` may be in any order.
std::vector<PiiEntity> merge_pii(std::string_view text, std::vector<PiiEntity> rules,
                                 std::vector<PiiEntity> model);

/// Adds findings of another reading of the text, such as its decoded form. Both lists are in text
/// order. An added finding replaces those inside it. It is left out if it overlaps another added
/// one or a part of a finding, so that nothing that was found is lost.
std::vector<PiiEntity> with_covering(std::vector<PiiEntity> found, std::vector<PiiEntity> added);

}  // namespace signalbox::pii
