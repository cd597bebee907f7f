// Finds telephone numbers: international ones by their sign and country code (ITU-T E.164), those
// of North America by their shape, and others by a word nearby.

#include <algorithm>

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

constexpr size_t kDigitsMax = 15;  // E.164
constexpr size_t kInternationalMin = 8;
constexpr size_t kLocalMin = 6;
constexpr size_t kUnbrokenMin = 7;
constexpr size_t kGroupsMax = 9;

/// Digits with the separators that people put between them: "(71) 4233-6306", "41 (0)69 979 80 58".
struct Number {
  size_t end = 0;
  size_t digits = 0;
  size_t groups = 0;
  std::array<size_t, 4> sizes{};  // of the first groups
  bool is_bracketed = false;      // the first group
};

// True if a single digit that ends at `end` may be a group after a country code, for a town or for
// mobile numbers, as in "+33 6 12" and "+54 9 11". Elsewhere a single digit belongs to a list.
bool is_area(const Text& text, const Number& number, size_t end) {
  constexpr size_t kDigitsBefore = 5;
  const size_t gap = separator_at(text, end).bytes;
  return number.digits <= kDigitsBefore && gap > 0 && is_digit(text[end + gap]);
}

// Reads one group at `at`, with or without brackets; returns false if there is none.
bool read_group(const Text& text, size_t at, bool abroad, Number& number) {
  const bool bracket = text[at] == '(';
  const size_t begin = at + (bracket ? 1 : 0);
  size_t end = text.digits_end(begin);
  const size_t size = end - begin;
  if (size == 0 || (bracket && (text[end] != ')' || size > 4))) return false;
  if (number.digits + size > kDigitsMax + 2)
    return false;  // a leading "00" does not count as digits
  if (number.groups == 0) number.is_bracketed = bracket;
  const bool alone = number.groups > 0 && size == 1 && !bracket && text[at - 1] != ')';
  if (alone && !(abroad && is_area(text, number, end))) return false;
  if (bracket) ++end;
  if (is_alpha(text[end]) && lower(text[end]) != 'x') return false;
  if (number.groups < number.sizes.size()) number.sizes[number.groups] = size;
  ++number.groups;
  number.digits += size;
  number.end = end;
  return true;
}

Number read_number(const Text& text, size_t at, bool abroad, size_t groups_max) {
  Number number;
  while (number.groups < groups_max && read_group(text, at, abroad, number)) {
    at = number.end;
    Separator separator = separator_at(text, at);
    at += separator.bytes;
    if (separator.kind == '\0' && text[at] == '/' && number.groups == 1) ++at;
    const bool joined = separator.kind == '\0' && text[at - 1] != '/';
    if (joined && text[at] != '(' && text[at - 1] != ')') break;
    if (separator.kind == '-' && separator_at(text, at).kind == ' ') break;
  }
  return number;
}

// The end of an extension, "x769", " ext. 12" or " extension 3"; `end` without one.
size_t extension_end(const Text& text, size_t end) {
  constexpr size_t kExtensionMax = 6;
  size_t at = end;
  while (text[at] == ' ' || text[at] == ',') ++at;
  if (at - end > 2) return end;
  size_t word = at;
  while (is_alpha(text[word])) ++word;
  const std::string_view name = text.from(at, std::min(word, text.size()));
  if (!same_word(name, "x") && !same_word(name, "ext") && !same_word(name, "extension")) return end;
  while (text[word] == '.' || text[word] == ' ' || text[word] == ':') ++word;
  const size_t last = text.digits_end(word);
  const bool fits = last > word && last - word <= kExtensionMax && !is_alnum(text[last]);
  return fits ? last : end;
}

// True if the digits continue as something other than a telephone number: a fraction, a time, a
// percentage, a word.
bool continues_after(const Text& text, size_t end) {
  const char next = text.after(end);
  if (is_alnum(next) || next == '%' || next == '_' || next == '@') return true;
  return (next == '.' || next == ':' || next == '/' || next == '-') && is_digit(text[end + 1]);
}

bool continues_other_text(const Text& text, size_t at) {
  const char before = text.before(at);
  if (is_alnum(before) || before == '_' || before == '$') return true;
  return (before == '.' || before == '-' || before == '/' || before == ':') &&
         is_digit(text[at - 2]);
}

// True for "1,234,567", but also for a row of a table. There, a word nearby is not enough to make
// digits a telephone number.
bool touches_comma(const Text& text, size_t begin, size_t end) {
  return (text[begin - 1] == ',' && is_digit(text[begin - 2])) ||
         (text[end] == ',' && is_digit(text[end + 1]));
}

// A country code follows a sign or "00" and does not begin with a zero.
bool is_international(const Text& text, size_t at, bool sign, const Number& number) {
  if (sign)
    return text[at] != '0' && number.digits >= kInternationalMin && number.digits <= kDigitsMax;
  return text[at] == '0' && text[at + 1] == '0' && text[at + 2] != '0' && number.groups >= 3 &&
         number.digits >= kInternationalMin + 2 && number.sizes[0] <= 5;
}

// True for "(206) 555-0147", "206-555-0147" and "1-206-555-0147".
bool is_north_american(const Text& text, size_t at, const Number& number) {
  const bool country = number.sizes[0] == 1 && text[at] == '1';
  const size_t first = country ? 1 : 0;
  if (number.groups != first + 3 || number.sizes[first] != 3 || number.sizes[first + 1] != 3 ||
      number.sizes[first + 2] != 4)
    return false;
  size_t area = at + (country ? 2 : 0);
  if (text[area] == '(') ++area;
  const bool spaced = separator_at(text, number.end - 5).kind == ' ';
  return text[area] >= '2' && (number.is_bracketed || country || !spaced);
}

// True if a leading word or sign stands directly before the number: "at 555", "number: 555".
bool has_leading_word(const Text& text, size_t at) {
  size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '(' || text[end - 1] == '\n')) --end;
  if (text[end - 1] == ':' || text[end - 1] == '#') return true;
  size_t begin = end;
  while (begin > 0 && end - begin < 12 && is_alpha(text[begin - 1])) --begin;
  const std::string_view word = text.from(begin, end);
  constexpr std::array kLeading = {"at",   "on",  "number",     "is",   "no",   "me",  "us",
                                   "with", "via", "registered", "call", "dial", "ring"};
  return std::any_of(kLeading.begin(), kLeading.end(),
                     [&](std::string_view each) { return same_word(word, each); });
}

// True if a name follows the number, as in signatures: " office", "-Fax".
bool has_name_after(const Text& text, size_t end) {
  size_t at = end;
  if (text[at] == ' ' || text[at] == '-') ++at;
  if (text[at] == '(') ++at;
  size_t word = at;
  while (is_alpha(text[word]) && word - at < 10) ++word;
  const std::string_view name = text.from(at, word);
  constexpr std::array kNames = {"office", "fax", "mobile", "cell", "phone", "tel", "telephone"};
  return at > end && std::any_of(kNames.begin(), kNames.end(),
                                 [&](std::string_view each) { return same_word(name, each); });
}

// True for "my number is 07700 900386": the number of a town or a mobile as dialled within a
// country.
bool has_owner(const Text& text, size_t at, const Number& number) {
  constexpr size_t kNationalMin = 10, kNationalMax = 11;
  if (text[at] != '0' || number.groups < 2 || number.digits < kNationalMin ||
      number.digits > kNationalMax)
    return false;
  size_t end = at;
  const auto word_before = [&] {
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == ':')) --end;
    size_t begin = end;
    while (begin > 0 && end - begin < 12 && is_alpha(text[begin - 1])) --begin;
    const std::string_view word = text.from(begin, end);
    end = begin;
    return word;
  };
  const auto is_any_of = [](std::string_view word, std::initializer_list<std::string_view> of) {
    return std::any_of(of.begin(), of.end(),
                       [&](std::string_view each) { return same_word(word, each); });
  };
  std::string_view word = word_before();
  if (same_word(word, "is")) word = word_before();
  return same_word(word, "number") &&
         is_any_of(word_before(), {"my", "your", "his", "her", "our", "their"});
}

bool is_in_context(const Text& text, size_t at, const Number& number, const Cues& cues) {
  constexpr size_t kNear = 32, kMaybeNear = 24, kAdjacent = 5;
  if (number.digits > kDigitsMax) return false;
  if (number.digits < (number.groups > 1 ? kLocalMin : kUnbrokenMin)) return false;
  if (cues.near(Cue::kPhone, at, kNear) || has_name_after(text, number.end) ||
      has_owner(text, at, number))
    return true;
  const bool is_adjacent = cues.near(Cue::kMaybePhone, at, kAdjacent);  // "messages to"
  if (!is_adjacent && !(cues.near(Cue::kMaybePhone, at, kMaybeNear) && has_leading_word(text, at)))
    return false;
  return (number.groups > 1 || number.digits >= 9 || text[at] == '0');
}

}  // namespace

Found find_phone(const Text& text, size_t at, const Cues& cues) {
  const size_t begin = at;
  if (text[at] == '+') ++at;
  if (continues_other_text(text, begin)) return std::nullopt;
  const bool sign = begin != at;
  const bool abroad = sign || (text[at] == '0' && text[at + 1] == '0');
  // Another number, a time or a date may follow. So try the most groups first, then fewer.
  for (size_t most = kGroupsMax; most > 0;) {
    const Number number = read_number(text, at, abroad, most);
    if (number.groups == 0) return std::nullopt;
    const size_t end = extension_end(text, number.end);
    const bool by_shape =
        is_international(text, at, sign, number) || (!sign && is_north_american(text, at, number));
    const bool by_word = !sign && !by_shape && most == kGroupsMax &&
                         !touches_comma(text, begin, end) && is_in_context(text, at, number, cues);
    if ((by_shape || by_word) && !continues_after(text, end))
      return Match{kPhone, begin, end, kInContext};
    most = number.groups - 1;
  }
  return std::nullopt;
}

}  // namespace signalbox::pii
