// Looks words up in one sorted table. Each scanner decides what a cue means for its numbers.

#include "router/safety/pii/scan.h"

#include <algorithm>

namespace signalbox::pii {
namespace {

struct Word {
  std::string_view text;
  Cue cue;
};

// Sorted by their bytes.
constexpr std::array kWords = {
    Word{"addr", Cue::kHost},
    Word{"address", Cue::kHost},
    Word{"amex", Cue::kCard},
    Word{"answering", Cue::kMaybePhone},
    Word{"birth", Cue::kDated},
    Word{"birthdate", Cue::kDated},
    Word{"birthday", Cue::kDated},
    Word{"birthdays", Cue::kDated},
    Word{"born", Cue::kDated},
    Word{"build", Cue::kVersion},
    Word{"call", Cue::kMaybePhone},
    Word{"card", Cue::kCard},
    Word{"cards", Cue::kCard},
    Word{"cc", Cue::kCard},
    Word{"cell", Cue::kPhone},
    Word{"cellphone", Cue::kPhone},
    Word{"chapter", Cue::kVersion},
    Word{"clause", Cue::kVersion},
    Word{"contact", Cue::kMaybePhone},
    Word{"debit", Cue::kCard},
    Word{"desk", Cue::kPhone},
    Word{"dial", Cue::kMaybePhone},
    Word{"dln", Cue::kLicense},
    Word{"dob", Cue::kDated},
    Word{"domain", Cue::kSite},
    Word{"driver", Cue::kDriver},
    Word{"drivers", Cue::kDriver},
    Word{"driving", Cue::kDriver},
    Word{"expiration", Cue::kDated},
    Word{"expires", Cue::kDated},
    Word{"expiry", Cue::kDated},
    Word{"fax", Cue::kPhone},
    Word{"firmware", Cue::kVersion},
    Word{"homepage", Cue::kSite},
    Word{"host", Cue::kHost},
    Word{"hotline", Cue::kPhone},
    Word{"ip", Cue::kHost},
    Word{"ipv", Cue::kHost},
    Word{"landline", Cue::kPhone},
    Word{"listen", Cue::kHost},
    Word{"localhost", Cue::kHost},
    Word{"loopback", Cue::kHost},
    Word{"mastercard", Cue::kCard},
    Word{"messages", Cue::kMaybePhone},
    Word{"mobile", Cue::kPhone},
    Word{"oid", Cue::kVersion},
    Word{"phone", Cue::kPhone},
    Word{"phones", Cue::kPhone},
    Word{"ping", Cue::kHost},
    Word{"plz", Cue::kZip},
    Word{"postal", Cue::kZip},
    Word{"postcode", Cue::kZip},
    Word{"reach", Cue::kMaybePhone},
    Word{"registered", Cue::kMaybePhone},
    Word{"release", Cue::kVersion},
    Word{"rev", Cue::kVersion},
    Word{"revision", Cue::kVersion},
    Word{"ring", Cue::kMaybePhone},
    Word{"section", Cue::kVersion},
    Word{"server", Cue::kHost},
    Word{"site", Cue::kSite},
    Word{"sms", Cue::kMaybePhone},
    Word{"ssn", Cue::kSsn},
    Word{"ssns", Cue::kSsn},
    Word{"tel", Cue::kPhone},
    Word{"telephone", Cue::kPhone},
    Word{"text", Cue::kMaybePhone},
    Word{"url", Cue::kSite},
    Word{"v", Cue::kVersion},
    Word{"ver", Cue::kVersion},
    Word{"version", Cue::kVersion},
    Word{"visa", Cue::kCard},
    Word{"visit", Cue::kSite},
    Word{"website", Cue::kSite},
    Word{"whatsapp", Cue::kPhone},
    Word{"zip", Cue::kZip},
    Word{"zipcode", Cue::kZip},
};
static_assert(std::is_sorted(kWords.begin(), kWords.end(),
                             [](const Word& a, const Word& b) { return a.text < b.text; }));

constexpr size_t kWordBytesMax = 10;

// True for the only cues that count inside an identifier. The others do not, because "cellId",
// "callCount" and "serverUrl" name other things.
bool is_in_names(const Word& word) {
  return word.cue == Cue::kSsn || word.cue == Cue::kZip || word.cue == Cue::kDriver ||
         word.text == "fax" || word.text == "mobile" || word.text == "phone" ||
         word.text == "telephone";
}

}  // namespace

bool same_word(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() && std::equal(a.begin(), a.end(), lower_case.begin(),
                                                     [](char x, char y) { return lower(x) == y; });
}

size_t Text::escape_end(size_t at) const {
  const Text& text = *this;
  if (text[at] == '%') return is_digit(text[at + 1]) && is_hex(text[at + 2]) ? at + 3 : 0;
  if (text[at] != '\\') return 0;
  const char kind = text[at + 1];
  if (kind == 'n' || kind == 'r' || kind == 't') return at + 2;
  const bool is_unit = kind == 'u' && is_hex(text[at + 2]) && is_hex(text[at + 3]) &&
                       is_hex(text[at + 4]) && is_hex(text[at + 5]);
  return is_unit ? at + 6 : 0;
}

constexpr size_t kUnderscoresMax = 3;

char Text::before(size_t at) const {
  for (const size_t bytes : {size_t{2}, size_t{3}, size_t{6}}) {
    if (at >= bytes && escape_end(at - bytes) == at) return ' ';
  }
  size_t begin = at;
  while (at - begin < kUnderscoresMax && (*this)[begin - 1] == '_') --begin;
  const char outer = (*this)[begin - 1];
  return begin < at && !is_alnum(outer) && outer != '_' ? ' ' : (*this)[at - 1];
}

char Text::after(size_t at) const {
  if (escape_end(at) != 0) return ' ';
  size_t end = at;
  while (end - at < kUnderscoresMax && (*this)[end] == '_') ++end;
  const char outer = (*this)[end];
  return end > at && !is_alnum(outer) && outer != '_' ? ' ' : (*this)[at];
}

size_t Text::letter_bytes(size_t at) const {
  const char c = (*this)[at];
  if (is_alpha(c)) return 1;
  const auto lead = static_cast<uint8_t>(c);
  const auto next = static_cast<uint8_t>((*this)[at + 1]);
  const bool is_letter = lead >= 0xC3 && lead <= 0xD4 && (next & 0xC0) == 0x80;
  return is_letter ? 2 : 0;
}

size_t Text::digits_end(size_t at) const {
  while (is_digit((*this)[at])) ++at;
  return at;
}

uint32_t Text::number(size_t begin, size_t end) const {
  uint32_t value = 0;
  for (size_t i = begin; i < end; ++i) value = value * 10 + static_cast<uint32_t>(bytes_[i] - '0');
  return value;
}

Separator separator_at(const Text& text, size_t at) {
  const char c = text[at];
  if (c == ' ' || c == '-' || c == '.') return {c, 1};
  if (c == '\xC2' && text[at + 1] == '\xA0') return {' ', 2};  // no-break space
  if (c != '\xE2' || text[at + 1] != '\x80') return {};
  const auto last = static_cast<uint8_t>(text[at + 2]);
  if (last == 0x87 || last == 0x89 || last == 0xAF) return {' ', 3};  // figure, thin, narrow
  if (last >= 0x90 && last <= 0x93) return {'-', 3};                  // hyphens and the en dash
  return {};
}

Groups groups_at(const Text& text, size_t at) {
  Groups out;
  char before = '\0';
  while (out.count < Groups::kMax && is_digit(text[at])) {
    const size_t end = text.digits_end(at);
    out.at[out.count++] = {at, end, before};
    const Separator separator = separator_at(text, end);
    before = separator.kind;
    if (before == '\0') break;
    at = end + separator.bytes;
  }
  return out;
}

void Cues::name(Cue cue, size_t end) {
  set(cue, end);
  if (cue == Cue::kPhone || cue == Cue::kSsn || cue == Cue::kLicense || cue == Cue::kZip)
    last_ = cue;
}

void Cues::see(const Text& text, size_t begin, size_t end) {
  see_word(text, begin, end, false);
}

void Cues::see_parts(const Text& text, size_t begin, size_t end) {
  constexpr size_t kFirstMin = 2;  // "iPhone" is one word
  const size_t whole = begin;
  for (size_t at = begin + 1; at <= end; ++at) {
    const bool parts = at < end && is_upper(text[at]) && !is_upper(text[at - 1]);
    if (parts && begin == whole && at - begin < kFirstMin) return;
    if (!parts && (at < end || begin == whole)) continue;
    see_word(text, begin, at, true);
    begin = at;
  }
}

void Cues::see_word(const Text& text, size_t begin, size_t end, bool is_part) {
  const size_t size = end - begin;
  if (size > kWordBytesMax) return;
  std::array<char, kWordBytesMax> buffer;
  for (size_t i = 0; i < size; ++i) buffer[i] = lower(text[begin + i]);
  const std::string_view word(buffer.data(), size);
  if (word == "social") {
    social_ = end;
  } else if (word == "security" && social_ != 0 && begin - social_ <= 2) {
    name(Cue::kSsn, end);
  } else if (word == "license" || word == "licence" || word == "permit") {
    if (near(Cue::kDriver, begin, 6)) name(Cue::kLicense, end);
  } else if (word == "dl" && text[begin] == 'D') {
    name(Cue::kLicense, end);
  } else {
    const auto entry =
        std::lower_bound(kWords.begin(), kWords.end(), word,
                         [](const Word& a, std::string_view b) { return a.text < b; });
    if (entry != kWords.end() && entry->text == word && !(is_part && !is_in_names(*entry)))
      name(entry->cue, end);
  }
}

}  // namespace signalbox::pii
