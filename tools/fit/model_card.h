#pragma once
// The README.md of a fitted head: what it was fitted to, and how good it is.

#include "base/error.h"
#include "tools/fit/fit.h"

namespace signalbox::tools {

/// Writes the card to options.out. It names the trunk and the data without their folders. A
/// README.md that a fit did not write stays, and options.print() gets a line about it. If the card
/// cannot be written, options.print() also gets a line; the head is usable without a card.
void write_card(const FitOptions& options, const FitReport& report);

}  // namespace signalbox::tools
