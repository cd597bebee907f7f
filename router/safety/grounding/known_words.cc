// Two words match by their letters, by the endings of peoples, languages and plurals, or by a table
// of synonyms.

#include "router/safety/grounding/known_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "router/text/normalize.h"

namespace signalbox::grounding {
namespace {

using namespace text;

// Limits of the sets. With more word runs, nearly any letters would be the initials of one.
constexpr size_t kInitialsMax = 1u << 16;
constexpr size_t kUnaccentedMax = 1u << 16;
constexpr size_t kRunsMax = 1u << 12;
constexpr size_t kRunMin = 3, kRunMax = 5;  // words of a run with initials

bool is_derivation(std::string_view tail) {
  return is_one_of(
      tail, {"s",  "es", "n",   "an",  "ian", "ean", "ish", "ese", "ic",  "al", "ans", "ians",
             "er", "en", "ers", "ous", "i",   "is",  "y",   "ed",  "ing", "ly", "'s"});
}

// Endings that a base form may have where its derivation has another.
bool is_ending(std::string_view tail) {
  return tail.size() <= 1 || is_derivation(tail) ||
         is_one_of(tail, {"in", "ia", "ain", "any", "land"});
}

// True for "Nigeria" and "Nigerian", but not for "Niger" and "Nigeria" or "Austen" and "Austin".
bool are_forms(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t common = 0;
  while (common < most && a[common] == b[common]) ++common;
  if (common < 4 || common * 2 <= std::max(a.size(), b.size())) return false;
  const std::string_view mine = a.substr(common), theirs = b.substr(common);
  const bool derived =
      (is_derivation(mine) && theirs != "in") || (is_derivation(theirs) && mine != "in");
  return derived && is_ending(mine) && is_ending(theirs);
}

// Pairs that share no beginning. "us" counts only in capitals.
constexpr std::string_view kSynonyms[][2] = {{"french", "france"},
                                             {"dutch", "netherlands"},
                                             {"spanish", "spain"},
                                             {"swiss", "switzerland"},
                                             {"greek", "greece"},
                                             {"welsh", "wales"},
                                             {"polish", "poland"},
                                             {"danish", "denmark"},
                                             {"british", "britain"},
                                             {"british", "uk"},
                                             {"britain", "uk"},
                                             {"kingdom", "uk"},
                                             {"united", "uk"},
                                             {"english", "england"},
                                             {"american", "us"},
                                             {"american", "usa"},
                                             {"american", "u.s"},
                                             {"states", "us"},
                                             {"states", "usa"},
                                             {"united", "us"},
                                             {"united", "usa"},
                                             {"turkish", "turkey"},
                                             {"chinese", "china"},
                                             {"irish", "ireland"},
                                             {"utc", "z"},
                                             {"utc", "gmt"},
                                             {"ii", "2"},
                                             {"iii", "3"},
                                             {"iv", "4"}};

bool is_ascii(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// "müller" becomes "mueller".
std::string transliterate(std::string_view lower) {
  constexpr std::string_view kLetters[][2] = {
      {"ä", "ae"}, {"ö", "oe"}, {"ø", "oe"}, {"ü", "ue"}, {"å", "aa"}};
  std::string out;
  for (size_t i = 0; i < lower.size(); ++i) {
    const auto* found = std::ranges::find(kLetters, lower.substr(i, 2),
                                          [](const auto& letter) { return letter[0]; });
    if (found == std::end(kLetters)) {
      out.push_back(lower[i]);
    } else {
      out += (*found)[1];
      ++i;
    }
  }
  return out;
}

// The initials of all words, and of the capitalised words only.
std::array<std::string, 2> initials_of(const ReadText& text, const Name& name) {
  std::array<std::string, 2> out;
  for (size_t i = name.first_token; i < name.last_token; ++i) {
    const Token& token = text.at(i);
    if (token.kind != TokenKind::kWord) continue;
    out[0] += token.lower[0];
    if (is_upper_start(token.text)) out[1] += token.lower[0];
  }
  return out;
}

}  // namespace

void add_initials(const ReadText& text, const Name& name, std::unordered_set<std::string>& into) {
  for (std::string& letters : initials_of(text, name)) {
    if (letters.size() >= 2 && letters.size() <= 8) into.insert(std::move(letters));
  }
}

bool is_everyday_acronym(std::string_view word) {
  return is_one_of(
      word, {"GDP", "AI",  "API", "URL", "PDF", "CSV", "JSON", "XML", "YAML", "HTML", "SQL", "HTTP",
             "ID",  "PIN", "FAQ", "TV",  "USB", "GPS", "CPU",  "GPU", "RAM",  "VAT",  "OK",  "ABV",
             "TBD", "DIY", "AM",  "PM",  "KPI", "SLA", "VPN",  "SMS", "EPS",  "IPO"});
}

void KnownWords::add(const ReadText& text) {
  for (const Token& token : text.tokens()) {
    if (token.kind == TokenKind::kSymbol) continue;
    words_.push_back(token.lower);
    if (is_all_upper(token.text)) acronyms_.push_back(token.lower);
    if (is_ascii(token.lower) || unaccented_.size() > kUnaccentedMax) continue;
    unaccented_.insert(text::bare_letters(token.lower));
    unaccented_.insert(text::bare_letters(transliterate(token.lower)));
  }
  add_initials_of_runs(text);
}

// Runs have three to five words and may contain small words inside: "return on investment".
void KnownWords::add_initials_of_runs(const ReadText& text) {
  size_t run = 0;  // words up to and including the token, at most kRunMax
  size_t added = 0;
  const auto is_small = [](const Token& token) {
    return is_one_of(token.lower, {"of", "on", "and", "in", "for", "to"});
  };
  for (size_t i = 0; i < text.tokens().size() && added < kRunsMax; ++i) {
    const Token& token = text.at(i);
    const bool small = is_small(token);
    if (token.kind != TokenKind::kWord || (!small && is_common_word(token.lower))) {
      run = 0;
      continue;
    }
    run = std::min(run + 1, kRunMax);
    for (size_t words = kRunMin; words <= run && !small; ++words) {
      if (is_small(text.at(i + 1 - words))) continue;
      std::string letters;
      for (size_t k = i + 1 - words; k <= i; ++k) letters += text.at(k).lower[0];
      added += initials_.insert(std::move(letters)).second;
    }
  }
}

void KnownWords::add(const ReadText& text, const Name& name) {
  if (initials_.size() <= kInitialsMax) add_initials(text, name, initials_);
}

void KnownWords::seal() {
  std::ranges::sort(words_);
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  std::ranges::sort(acronyms_);
}

bool KnownWords::contain(const Token& word) const {
  const std::string_view lower = word.lower;
  if (std::ranges::binary_search(words_, lower)) return true;
  if (word.kind != TokenKind::kWord) return false;
  constexpr size_t kNear = 48;  // words with the same four letters that are compared
  const std::string_view beginning = lower.substr(0, 4);
  auto near = std::ranges::lower_bound(words_, beginning);
  for (size_t i = 0; i < kNear && near != words_.end() && near->starts_with(beginning);
       ++i, ++near) {
    if (are_forms(lower, *near)) return true;
  }
  const auto has = [&](std::string_view other) {
    return std::ranges::binary_search(other == "us" ? acronyms_ : words_, other);
  };
  if (std::ranges::any_of(kSynonyms, [&](const auto& pair) {
        return (pair[0] == lower && has(pair[1])) || (pair[1] == lower && has(pair[0]));
      }))
    return true;
  return (is_all_upper(word.text.substr(0, lower.size())) &&
          initials_.contains(std::string(lower))) ||
         contain_unaccented(lower);
}

bool KnownWords::contain_unaccented(std::string_view lower) const {
  if (unaccented_.contains(text::bare_letters(lower))) return true;
  if (is_ascii(lower)) return false;
  return std::ranges::any_of(
      std::array{text::bare_letters(lower), text::bare_letters(transliterate(lower))},
      [&](std::string_view bare) { return std::ranges::binary_search(words_, bare); });
}

bool KnownWords::contain_initials(const ReadText& text, const Name& name) const {
  return std::ranges::any_of(initials_of(text, name), [&](const std::string& letters) {
    return letters.size() >= 2 && std::ranges::binary_search(acronyms_, std::string_view(letters));
  });
}

}  // namespace signalbox::grounding
