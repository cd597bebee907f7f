#pragma once
// Reads times of day: "15:30", "3:30 pm", "9-11 am", "half past two", "14h30", and in a context
// also unmarked times where a time is expected: "Departure 14.30", "Sat 10-14".

#include "router/text/date.h"

namespace signalbox::text {

/// Reads the time that begins at `token` and moves `token` past it. Returns false if there is none.
bool read_time(const ReadText& text, size_t& token, Date& date);

/// Reads "14.30", "14h30" or both ends of "9-17" at the token.
bool read_unmarked_time(const ReadText& text, size_t token, Date& date);

/// The same after a word that announces a time, in a context only. Moves `token` past the word but
/// not past the time, whose numbers also count as numbers.
bool read_announced_time(const ReadText& text, size_t& token, Date& date);

}  // namespace signalbox::text
