// Reads the clock first, then words for the morning or the afternoon. These follow the clock or the
// other end of a span.

#include "router/text/clock.h"

#include "router/text/digits.h"
#include "router/text/numeral.h"

namespace signalbox::text {
namespace {

constexpr int32_t kHours = 24, kMinutes = 60, kNoon = 12;

struct Clock {
  int32_t hour = 0, minute = 0;
  bool exact = false;  // the minutes are written
  size_t next = 0;     // the token after it
  int32_t minutes() const { return (hour * kMinutes + minute) % (kHours * kMinutes); }
};

// A number of at most `most`, or -1.
int32_t number_up_to(std::string_view digits, int32_t most) {
  const int32_t value = small_number(digits);
  return value <= most ? value : -1;
}

int32_t hour_at(const ReadText& text, size_t token) {
  return text.at(token).kind == TokenKind::kNumber ? number_up_to(text.at(token).text, kHours) : -1;
}

// Two digits glued to the mark before them, or -1.
int32_t minutes_at(const ReadText& text, size_t token) {
  const std::string_view digits = text.at(token).text;
  return text.glued(token) && digits.size() == 2 ? number_up_to(digits, kMinutes - 1) : -1;
}

// "15", "15:30", "15:30:10".
std::optional<Clock> clock_at(const ReadText& text, size_t token) {
  Clock out{.hour = hour_at(text, token), .next = token + 1};
  if (out.hour < 0) return std::nullopt;
  const auto after_colon = [&] {
    return text.at(out.next).is(":") && text.glued(out.next) ? minutes_at(text, out.next + 1) : -1;
  };
  if (const int32_t minute = after_colon(); minute >= 0) {
    out.minute = minute;
    out.exact = true;
    out.next += 2;
    if (after_colon() >= 0) out.next += 2;
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
  const Clock out{.hour = number_up_to(written.substr(0, point), kHours),
                  .minute = number_up_to(written.substr(point + 1), kMinutes - 1),
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

std::optional<Clock> first_of(std::optional<Clock> one, std::optional<Clock> other) {
  return one ? one : other;
}

bool follows_preposition(const ReadText& text, size_t token) {
  return token > 0 &&
         is_one_of(text.at(token - 1).lower, {"at", "by", "until", "till", "before", "after",
                                              "around", "from", "to", "between", "and", "um"});
}

// Reads "am", "p.m." (one token or four) or, after a preposition, "in the evening", and moves
// `token` past it. Returns 0 before noon, 1 after noon, -1 if unmarked.
int32_t half_of_day(const ReadText& text, size_t& token, bool preposition) {
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
  if (!preposition || !word.is("in") || !text.at(token + 1).is("the")) return -1;
  const Token& part = text.at(token + 2);
  if (!is_one_of(part.lower, {"morning", "afternoon", "evening"})) return -1;
  token += 3;
  return !part.is("morning");
}

// The half of day of the first hour in "9-11 am" or "11 to 1 pm", or -1.
int32_t half_of_span(const ReadText& text, const Clock& first) {
  if (!is_dash(text.at(first.next)) && !is_one_of(text.at(first.next).lower, {"to", "and"}))
    return -1;
  if (is_one_of(text.at(first.next + 1).lower, {"noon", "midday"})) return 0;
  auto second = first_of(dotted_at(text, first.next + 1), clock_at(text, first.next + 1));
  if (!second || second->hour < 1 || second->hour > kNoon) return -1;
  const int32_t half = half_of_day(text, second->next, false);
  if (half < 0) return -1;
  return first.hour % kNoon <= second->hour % kNoon ? half : 1 - half;
}

// Reads "half past two", "a quarter to three", "ten past four".
bool read_past(const ReadText& text, size_t& token, Date& date) {
  size_t at = token + (text.at(token).is("a") ? 1 : 0);
  const bool named = is_one_of(text.at(at).lower, {"half", "quarter"});
  int32_t minutes = text.at(at).is("half") ? 30 : 15;
  if (!named) {
    const auto written = read_numeral(text, at);
    if (!written || written->ordinal || written->fraction || written->value < 1 ||
        written->value >= kMinutes)
      return false;
    minutes = static_cast<int32_t>(written->value);
    at = written->next - 1;
    if (is_one_of(text.at(at + 1).lower, {"minute", "minutes"})) ++at;
  }
  // "Ten to four" may be a span.
  const bool past = text.at(at + 1).is("past");
  if (!past && !(named && text.at(at + 1).is("to"))) return false;
  const bool noon = text.at(at + 2).is("noon");
  auto hour = noon || text.at(at + 2).is("midnight")
                  ? Clock{.hour = kNoon, .next = at + 3}
                  : first_of(worded_at(text, at + 2), clock_at(text, at + 2));
  if (!hour || hour->exact || hour->hour < 1 || hour->hour > kNoon) return false;
  token = hour->next;
  const int32_t afternoon = noon ? 1 : half_of_day(text, token, true);
  date.half_day = afternoon < 0;
  const int32_t minute =
      (hour->hour % kNoon + (afternoon > 0 ? kNoon : 0)) * kMinutes + (past ? minutes : -minutes);
  date.minute = (minute + kHours * kMinutes) % (kHours * kMinutes);
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
  const bool preposition = follows_preposition(text, token);
  if (const auto lettered = lettered_at(text, token); lettered && preposition) {
    date.minute = lettered->minutes();
    token = lettered->next;
    return true;
  }
  auto clock = first_of(clock_at(text, token), worded_at(text, token));
  const bool dotted = !clock;
  if (dotted) clock = dotted_at(text, token);
  if (!clock) return false;
  size_t at = clock->next;
  int32_t afternoon = half_of_day(text, at, preposition);
  const bool marked = afternoon < 0 && is_one_of(text.at(at).lower, {"o'clock", "o’clock"});
  if (marked) ++at;
  if (afternoon < 0 && !marked && text.at(token).kind == TokenKind::kNumber)
    afternoon = half_of_span(text, *clock);
  if (afternoon < 0 && !marked && (!clock->exact || dotted)) return false;
  if (afternoon >= 0) {
    if (clock->hour < 1 || clock->hour > kNoon) return false;
    clock->hour = clock->hour % kNoon + kNoon * afternoon;
  }
  // "12:20" in a context is not a time after midnight.
  date.half_day = afternoon < 0 && clock->hour <= kNoon - (text.is_context() && clock->exact);
  date.minute = clock->minutes();
  token = at;
  return true;
}

bool read_unmarked_time(const ReadText& text, size_t token, Date& date) {
  const auto unmarked_at = [&](size_t at) {
    return first_of(dotted_at(text, at), lettered_at(text, at));
  };
  auto first = unmarked_at(token);
  const bool alone = first.has_value();
  if (!first) first = clock_at(text, token);
  if (!first || (!alone && first->exact)) return false;
  if (is_dash(text.at(first->next)) && text.glued(first->next)) {
    const auto last = first_of(unmarked_at(first->next + 1), clock_at(text, first->next + 1));
    if (last) date.other_minute = last->minutes();
  }
  if (!alone && date.other_minute < 0) return false;
  date.minute = first->minutes();
  date.half_day = first->hour < kNoon && date.other_minute < kNoon * kMinutes && !alone;
  return true;
}

bool read_announced_time(const ReadText& text, size_t& token, Date& date) {
  if (!text.is_context() || text.at(token).kind != TokenKind::kWord) return false;
  const size_t next = token + (text.at(token + 1).is(":") ? 2 : 1);
  const std::string_view word = text.at(token).lower;
  const bool announced =
      is_one_of(word,
                {"at",      "um",      "dep",    "departs", "departure", "leaves", "arr",
                 "arrives", "arrival", "open",   "opens",   "opening",   "hours",  "closes",
                 "closing", "starts",  "begins", "ends",    "until",     "till",   "daily"}) ||
      (is_one_of(word, {"from", "by", "to", "before", "after"}) && dotted_at(text, next));
  if (!announced || !read_unmarked_time(text, next, date)) return false;
  ++token;
  return true;
}

}  // namespace signalbox::text
