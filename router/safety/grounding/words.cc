// A word is known by its letters, by the ending of a people or a language, or by what else it is
// called.

#include "router/safety/grounding/words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "router/text/normalize.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kInitialsMax = 1u << 16;
constexpr size_t kBareMax = 1u << 16;
constexpr size_t kRunsMax = 1u << 12;  // of words in a row: with more, any letters would be theirs
constexpr size_t kShortenedMax = 16;
constexpr size_t kRunMin = 3, kRunMax = 5;

// Endings of peoples, languages and plurals.
bool is_derived(std::string_view tail) {
  return is_one_of(
      tail, {"s",  "es", "n",   "an",  "ian", "ean", "ish", "ese", "ic",  "al", "ans", "ians",
             "er", "en", "ers", "ous", "i",   "is",  "y",   "ed",  "ing", "ly", "'s"});
}

// Endings that a name itself may have where they have those.
bool is_ending(std::string_view tail) {
  return tail.size() <= 1 || is_derived(tail) ||
         is_one_of(tail, {"in", "ia", "ain", "any", "land"});
}

// "Nigeria" and "Nigerian", and neither "Niger" and "Nigeria" nor "Austen" and "Austin".
bool related(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t common = 0;
  while (common < most && a[common] == b[common]) ++common;
  if (common < 4 || common * 2 <= std::max(a.size(), b.size())) return false;
  const std::string_view mine = a.substr(common), theirs = b.substr(common);
  const bool derived = (is_derived(mine) && theirs != "in") || (is_derived(theirs) && mine != "in");
  return derived && is_ending(mine) && is_ending(theirs);
}

// Names that share no beginning with what they are also called.
constexpr auto kCalled =
    std::to_array<std::array<std::string_view, 2>>({{"french", "france"},
                                                    {"dutch", "netherlands"},
                                                    {"dutch", "holland"},
                                                    {"spanish", "spain"},
                                                    {"swiss", "switzerland"},
                                                    {"greek", "greece"},
                                                    {"welsh", "wales"},
                                                    {"polish", "poland"},
                                                    {"danish", "denmark"},
                                                    {"british", "britain"},
                                                    {"british", "uk"},
                                                    {"english", "england"},
                                                    {"american", "us"},
                                                    {"american", "usa"},
                                                    {"american", "u.s"},
                                                    {"states", "us"},
                                                    {"united", "us"},
                                                    {"states", "usa"},
                                                    {"united", "usa"},
                                                    {"united", "uk"},
                                                    {"kingdom", "uk"},
                                                    {"usa", "states"},
                                                    {"us", "states"},
                                                    {"uk", "kingdom"},
                                                    {"uk", "britain"},
                                                    {"turkish", "turkey"},
                                                    {"chinese", "china"},
                                                    {"irish", "ireland"},
                                                    {"finnish", "finland"},
                                                    {"filipino", "philippines"},
                                                    {"utc", "z"},
                                                    {"utc", "gmt"},
                                                    {"ii", "2"},
                                                    {"iii", "3"},
                                                    {"iv", "4"}});

// What texts that programs write call countries.
constexpr auto kCountries = std::to_array<std::array<std::string_view, 2>>(
    {{"argentina", "ar"},   {"australia", "au"},   {"austria", "at"},   {"belgium", "be"},
     {"brazil", "br"},      {"britain", "gb"},     {"bulgaria", "bg"},  {"canada", "ca"},
     {"chile", "cl"},       {"china", "cn"},       {"colombia", "co"},  {"croatia", "hr"},
     {"czech", "cz"},       {"czechia", "cz"},     {"denmark", "dk"},   {"egypt", "eg"},
     {"estonia", "ee"},     {"finland", "fi"},     {"france", "fr"},    {"germany", "de"},
     {"greece", "gr"},      {"hungary", "hu"},     {"iceland", "is"},   {"india", "in"},
     {"indonesia", "id"},   {"ireland", "ie"},     {"israel", "il"},    {"italy", "it"},
     {"japan", "jp"},       {"kingdom", "gb"},     {"korea", "kr"},     {"latvia", "lv"},
     {"lithuania", "lt"},   {"luxembourg", "lu"},  {"malaysia", "my"},  {"mexico", "mx"},
     {"netherlands", "nl"}, {"nigeria", "ng"},     {"norway", "no"},    {"pakistan", "pk"},
     {"peru", "pe"},        {"philippines", "ph"}, {"poland", "pl"},    {"portugal", "pt"},
     {"romania", "ro"},     {"serbia", "rs"},      {"singapore", "sg"}, {"slovakia", "sk"},
     {"slovenia", "si"},    {"spain", "es"},       {"sweden", "se"},    {"switzerland", "ch"},
     {"taiwan", "tw"},      {"thailand", "th"},    {"turkey", "tr"},    {"ukraine", "ua"},
     {"united", "gb"},      {"vietnam", "vn"},     {"zealand", "nz"}});

bool is_ascii(std::string_view word) {
  return std::ranges::all_of(word, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// "müller" as "mueller".
std::string with_e(std::string_view lower) {
  std::string out;
  for (size_t i = 0; i < lower.size(); ++i) {
    const std::string_view letter = lower.substr(i, 2);
    const std::string_view written = letter == "ä"   ? "ae"
                                     : letter == "ö" ? "oe"
                                     : letter == "ø" ? "oe"
                                     : letter == "ü" ? "ue"
                                     : letter == "å" ? "aa"
                                                     : "";
    if (written.empty()) {
      out.push_back(lower[i]);
      continue;
    }
    out += written;
    ++i;
  }
  return out;
}

// With and without those of its small words: "World Health Organization" is "who".
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
    const auto at = static_cast<size_t>(&token - text.tokens().data());
    if (token.text.size() >= 3 && token.text.size() <= 4 && is_upper_start(token.text) &&
        text.at(at - 1).is("(") && text.at(at + 1).is(")") && shortened_.size() < kShortenedMax)
      shortened_.push_back(token.lower);
    if (is_ascii(token.lower) || bare_.size() > kBareMax) continue;
    bare_.insert(text::bare_letters(token.lower));
    bare_.insert(text::bare_letters(with_e(token.lower)));
  }
  add_initials_of_runs(text);
}

// Of three to five words in a row; small words stand inside only: "return on investment".
void KnownWords::add_initials_of_runs(const ReadText& text) {
  size_t run = 0;  // words before the token, at most kRunMax
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

bool KnownWords::hold(const Token& word) const {
  const std::string_view lower = word.lower;
  const auto at = std::ranges::lower_bound(words_, lower);
  if (at != words_.end() && *at == lower) return true;
  if (word.kind != TokenKind::kWord) return false;
  constexpr size_t kNear = 48;  // words with the same beginning that are looked at
  const std::string_view beginning = lower.substr(0, 4);
  if (beginning.size() == 4) {
    auto near = std::ranges::lower_bound(words_, beginning);
    for (size_t i = 0; i < kNear && near != words_.end() && near->starts_with(beginning);
         ++i, ++near) {
      if (related(lower, *near)) return true;
    }
  }
  const auto has = [&](std::string_view other) {
    return std::ranges::binary_search(other == "us" ? acronyms_ : words_, other);
  };
  if (std::ranges::any_of(kCalled, [&](const auto& pair) {
        return (pair[0] == lower && has(pair[1])) || (pair[1] == lower && has(pair[0]));
      }))
    return true;
  if (std::ranges::any_of(kCountries, [&](const auto& pair) {
        return pair[0] == lower && std::ranges::binary_search(acronyms_, pair[1]);
      }))
    return true;
  if (is_shortened(lower)) return true;
  return (is_all_upper(word.text.substr(0, lower.size())) &&
          initials_.contains(std::string(lower))) ||
         hold_bare(lower);
}

// "Republican" for "(Rep)".
bool KnownWords::is_shortened(std::string_view lower) const {
  return std::ranges::any_of(shortened_, [&](std::string_view beginning) {
    return lower.size() > beginning.size() && lower.starts_with(beginning);
  });
}

bool KnownWords::hold_bare(std::string_view lower) const {
  if (bare_.contains(text::bare_letters(lower))) return true;
  if (is_ascii(lower)) return false;
  return std::ranges::any_of(
      std::array{text::bare_letters(lower), text::bare_letters(with_e(lower))},
      [&](const std::string& bare) {
        return std::ranges::binary_search(words_, std::string_view(bare));
      });
}

bool KnownWords::hold_initials(const ReadText& text, const Name& name) const {
  return std::ranges::any_of(initials_of(text, name), [&](const std::string& letters) {
    return letters.size() >= 2 && std::ranges::binary_search(acronyms_, std::string_view(letters));
  });
}

}  // namespace signalbox::grounding
