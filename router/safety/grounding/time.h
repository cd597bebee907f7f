#pragma once
// Times of day as texts write them: "15:30", "3:30 pm", "9-11 am", "half past two", "14h30", and in
// a context what stands where times stand: "Departure 14.30", "Sat 10-14".

#include "router/safety/grounding/date.h"

namespace signalbox::grounding {

/// Moves `token` behind the time, if one begins there.
bool read_time(const ReadText& text, size_t& token, Date& date);

/// The time on a clock with 24 hours that begins at the token without anything that says so, or
/// both ends of a span: "14.30", "14h30", "9-17".
bool read_unmarked_time(const ReadText& text, size_t token, Date& date);

/// The same behind a word that speaks of times, which alone is taken: the numbers stay numbers too.
bool read_announced_time(const ReadText& text, size_t& token, Date& date);

}  // namespace signalbox::grounding
