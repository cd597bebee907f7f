// A clock is read first, then what says which half of the day it means: words behind it, or behind
// the other end of a span.

#include "router/safety/grounding/time.h"

#include "router/safety/grounding/digits.h"
#include "router/safety/grounding/numeral.h"

namespace signalbox::grounding {
namespace {

constexpr int32_t kHours = 24, kMinutes = 60, kNoon = 12;

struct Clock {
  int32_t hour = 0, minute = 0;
  bool exact = false;  // the minutes are written
  size_t next = 0;     // the token after it
  int32_t minutes() const { return (hour * kMinutes + minute) % (kHours * kMinutes); }
};

// A number that is at most `most`, or -1.
int32_t small(std::string_view digits, int32_t most) {
  const int32_t value = small_number(digits);
  return value <= most ? value : -1;
}

int32_t hour_at(const ReadText& text, size_t token) {
  return text.at(token).kind == TokenKind::kNumber ? small(text.at(token).text, kHours) : -1;
}

// Minutes or seconds with both digits, glued to the mark before them, or -1.
int32_t minutes_at(const ReadText& text, size_t token) {
  const std::string_view digits = text.at(token).text;
  return text.glued(token) && digits.size() == 2 ? small(digits, kMinutes - 1) : -1;
}

// "15", "15:30", "15:30:10".
std::optional<Clock> clock_at(const ReadText& text, size_t token) {
  Clock out{.hour = hour_at(text, token), .next = token + 1};
  if (out.hour < 0) return std::nullopt;
  const auto colon = [&] {
    return text.at(out.next).is(":") && text.glued(out.next) ? minutes_at(text, out.next + 1) : -1;
  };
  if (const int32_t minute = colon(); minute >= 0) {
    out.minute = minute;
    out.exact = true;
    out.next += 2;
    if (colon() >= 0) out.next += 2;
  }
  return out;
}

// "15.30".
std::optional<Clock> dotted_at(const ReadText& text, size_t token) {
  const std::string_view written = text.at(token).text;
  const size_t point = written.find('.');
  if (text.at(token).kind != TokenKind::kNumber || point == written.npos ||
      written.size() - point != 3)
    return std::nullopt;
  const Clock out{.hour = small(written.substr(0, point), kHours),
                  .minute = small(written.substr(point + 1), kMinutes - 1),
                  .exact = true,
                  .next = token + 1};
  if (out.hour < 0 || out.minute < 0) return std::nullopt;
  return out;
}

// "15h30", "15h".
std::optional<Clock> lettered_at(const ReadText& text, size_t token) {
  Clock out{.hour = hour_at(text, token), .exact = true, .next = token + 2};
  if (out.hour < 0 || text.at(token + 1).text != "h" || !text.glued(token + 1)) return std::nullopt;
  if (const int32_t minute = minutes_at(text, out.next); minute >= 0) {
    out.minute = minute;
    ++out.next;
  }
  return out;
}

// "six".
std::optional<Clock> worded_at(const ReadText& text, size_t token) {
  if (text.at(token).kind != TokenKind::kWord) return std::nullopt;
  const auto words = read_numeral(text, token);
  if (!words || !words->words || words->ordinal || words->fraction || words->value > kHours)
    return std::nullopt;
  return Clock{.hour = static_cast<int32_t>(words->value), .next = words->next};
}

bool follows_preposition(const ReadText& text, size_t token) {
  return token > 0 &&
         is_one_of(text.at(token - 1).lower, {"at", "by", "until", "till", "before", "after",
                                              "around", "from", "to", "between", "and", "um"});
}

// 0 before noon, 1 after it, -1 where nothing says so: "am", "p.m." as one token or three, and with
// `at` before the clock "in the evening".
int32_t half_of_day(const ReadText& text, size_t& token, bool spoken) {
  const Token& word = text.at(token);
  if (word.is("am") || word.is("pm")) {
    ++token;
    return word.is("pm");
  }
  if ((word.is("a") || word.is("p")) && text.at(token + 1).is(".") && text.at(token + 2).is("m") &&
      text.glued(token + 1) && text.glued(token + 2)) {
    token += 3;
    if (text.at(token).is(".") && text.glued(token)) ++token;
    return word.is("p");
  }
  if (!spoken || !word.is("in") || !text.at(token + 1).is("the")) return -1;
  const Token& part = text.at(token + 2);
  if (!is_one_of(part.lower, {"morning", "afternoon", "evening"})) return -1;
  token += 3;
  return !part.is("morning");
}

// Of the first hour of "9-11 am" or "11 to 1 pm".
int32_t half_of_span(const ReadText& text, const Clock& first) {
  if (!is_dash(text.at(first.next)) && !is_one_of(text.at(first.next).lower, {"to", "and"}))
    return -1;
  if (is_one_of(text.at(first.next + 1).lower, {"noon", "midday"})) return 0;
  auto second = dotted_at(text, first.next + 1);
  if (!second) second = clock_at(text, first.next + 1);
  if (!second || second->hour < 1 || second->hour > kNoon) return -1;
  const int32_t half = half_of_day(text, second->next, false);
  if (half < 0) return -1;
  return first.hour % kNoon <= second->hour % kNoon ? half : 1 - half;
}

// Of "ten past four", "8 minutes past four"; none at all where nothing like it stands.
Clock minutes_of_hour(const ReadText& text, size_t token) {
  Clock out;
  if (text.at(token).kind == TokenKind::kNumber) {
    out.minute = small(text.at(token).text, kMinutes - 1);
    out.next = token + 1;
  } else if (const auto words =
                 text.at(token).kind == TokenKind::kWord ? read_numeral(text, token) : std::nullopt;
             words && words->words && !words->ordinal && !words->fraction &&
             words->value < kMinutes) {
    out.minute = static_cast<int32_t>(words->value);
    out.next = words->next;
  }
  return out;
}

// "half past two", "a quarter to three".
bool read_past(const ReadText& text, size_t& token, Date& date) {
  const size_t part = token + (text.at(token).is("a") ? 1 : 0);
  const bool half = text.at(part).is("half"), quarter = text.at(part).is("quarter");
  const Clock written = half || quarter ? Clock{.minute = half ? 30 : 15, .next = part + 1}
                                        : minutes_of_hour(text, part);
  const int32_t minutes = written.minute;
  if (minutes < 1) return false;
  size_t joint = written.next;
  if (!half && !quarter && is_one_of(text.at(joint).lower, {"minute", "minutes"})) ++joint;
  const bool past = text.at(joint).is("past"), to = text.at(joint).is("to");
  // "Ten to four" may be the ends of a span.
  const bool spoken = minutes % 5 == 0 && minutes < 30 && written.next == part + 1 &&
                      text.at(part).kind == TokenKind::kWord && token > 0 &&
                      is_one_of(text.at(token - 1).lower, {"at", "by", "until", "before"});
  if (!past && !(to && (quarter || spoken))) return false;
  auto hour = worded_at(text, joint + 1);
  if (!hour) hour = clock_at(text, joint + 1);
  if (!hour && is_one_of(text.at(joint + 1).lower, {"midnight", "noon"})) {
    date.minute = (text.at(joint + 1).is("noon") ? kNoon * kMinutes : 0) + minutes;
    token = joint + 2;
    return true;
  }
  if (!hour || hour->exact || hour->hour < 1 || hour->hour > kNoon) return false;
  token = hour->next;
  const int32_t after = past ? minutes : -minutes;
  const int32_t afternoon = half_of_day(text, token, true);
  date.half_day = afternoon < 0;
  date.minute = (hour->hour % kNoon + (afternoon > 0 ? kNoon : 0)) * kMinutes + after;
  date.minute = (date.minute + kHours * kMinutes) % (kHours * kMinutes);
  return true;
}

}  // namespace

bool read_time(const ReadText& text, size_t& token, Date& date) {
  const size_t word = token + (text.at(token).text == "12" ? 1 : 0);  // "12 noon"
  if (is_one_of(text.at(word).lower, {"noon", "midday", "midnight"})) {
    date.minute = text.at(word).is("midnight") ? 0 : kNoon * kMinutes;
    token = word + 1;
    return true;
  }
  if (read_past(text, token, date)) return true;
  const bool spoken = follows_preposition(text, token);
  if (const auto lettered = lettered_at(text, token); lettered && spoken) {
    date.minute = lettered->minutes();
    token = lettered->next;
    return true;
  }
  auto clock = clock_at(text, token);
  if (!clock) clock = worded_at(text, token);
  const auto dotted = clock ? std::nullopt : dotted_at(text, token);
  if (dotted) clock = dotted;
  if (!clock) return false;
  size_t at = clock->next;
  int32_t afternoon = half_of_day(text, at, spoken);
  const bool marked = afternoon < 0 && is_one_of(text.at(at).lower, {"o'clock", "o’clock"});
  if (marked) ++at;
  if (afternoon < 0 && !marked && text.at(token).kind == TokenKind::kNumber)
    afternoon = half_of_span(text, *clock);
  if (afternoon < 0 && !marked && (!clock->exact || dotted)) return false;
  if (afternoon >= 0) {
    if (clock->hour < 1 || clock->hour > kNoon) return false;
    clock->hour = clock->hour % kNoon + kNoon * afternoon;
  }
  // "12:20" of a context is no time after midnight.
  date.half_day = afternoon < 0 && clock->hour <= kNoon - (text.offers() && clock->exact);
  date.minute = clock->minutes();
  token = at;
  return true;
}

bool read_unmarked_time(const ReadText& text, size_t token, Date& date) {
  const auto read = [&](size_t at) {
    auto clock = dotted_at(text, at);
    if (!clock) clock = lettered_at(text, at);
    return clock;
  };
  auto first = read(token);
  const bool alone = first.has_value();
  if (!first) first = clock_at(text, token);
  if (!first || (!alone && first->exact)) return false;
  if (is_dash(text.at(first->next)) && text.glued(first->next)) {
    auto last = read(first->next + 1);
    if (!last) last = clock_at(text, first->next + 1);
    if (last) date.other_minute = last->minutes();
  }
  if (!alone && date.other_minute < 0) return false;
  date.minute = first->minutes();
  date.half_day = first->hour < kNoon && date.other_minute < kNoon * kMinutes && !alone;
  return true;
}

bool read_announced_time(const ReadText& text, size_t& token, Date& date) {
  if (!text.offers() || text.at(token).kind != TokenKind::kWord) return false;
  const size_t next = token + (text.at(token + 1).is(":") ? 2 : 1);
  const std::string_view word = text.at(token).lower;
  const bool announced =
      is_one_of(word,
                {"at",      "um",      "dep",    "departs", "departure", "leaves", "arr",
                 "arrives", "arrival", "open",   "opens",   "opening",   "hours",  "closes",
                 "closing", "starts",  "begins", "ends",    "until",     "till",   "daily"}) ||
      (is_one_of(word, {"from", "by", "to", "before", "after"}) && dotted_at(text, next)) ||
      (dotted_at(text, next) && is_dash(text.at(next + 1)) && dotted_at(text, next + 2));
  if (!announced) return false;
  if (!read_unmarked_time(text, next, date)) return false;
  ++token;
  return true;
}

}  // namespace signalbox::grounding
