#pragma once
// The form that data of some types must have, whatever a model marks as such.

#include <string_view>

namespace signalbox::pii {

/// Returns whether a text may be data of the type: a mailbox has an '@', a card 12 to 19 digits, a
/// date a digit or the name of a month or a day. True for types without a form, such as names.
/// Hardware addresses and Unix times have the form of no type.
bool has_form(std::string_view type, std::string_view text);

}  // namespace signalbox::pii
