// Detects languages. The script of a letter leaves one language or a few. If it leaves several,
// letters that only some of them have, or their frequent words, decide. A table of n-grams was
// rejected: it would be larger than this whole file, and requests that are routed by language have
// at least a few words.

#include "router/signals/language.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "base/utf8.h"
#include "router/signals/language_words.h"
#include "router/signals/types.h"
#include "router/text/normalize.h"

namespace signalbox::signals {
namespace {

constexpr double kDefaultShare = 0.3;
constexpr double kGuess = 0.5;  // share of English if the text gives no evidence
// The beginning is enough; reading all of a long text would only take longer.
constexpr size_t kReadBytesMax = size_t{16} << 10;
// Weight of a letter that English lacks, relative to a frequent word.
constexpr double kLetterWeight = 0.5;
// Weight of one character of these scripts, relative to a letter of an alphabet.
constexpr double kIdeographWeight = 3;

// A text in Latin letters is in another language if it has that many different words of it, fewer
// if one of them is in a list: names and loan words have foreign letters, too.
constexpr size_t kOtherWords = 4;
constexpr size_t kOtherWordsListed = 3;
// Words of other languages for each word that only supported languages have.
constexpr size_t kOtherPerSupported = 3;
// A text in another script: share and weight of its letters.
constexpr double kOtherScriptShare = 0.6;
constexpr double kOtherScriptWeight = 8;

struct Script {
  char32_t first, last;
  std::string_view name;  // the language, if only one language uses the script
  double weight = 1;
};

// Sorted by code point.
constexpr auto kScripts = std::to_array<Script>({
    {0x0041, 0x005A, "latin"},
    {0x0061, 0x007A, "latin"},
    {0x00C0, 0x024F, "latin"},
    {0x0370, 0x03FF, "el"},
    {0x0400, 0x052F, "cyrillic"},
    {0x0531, 0x058F, "hy"},
    {0x0590, 0x05FF, "he"},
    {0x0600, 0x06FF, "arabic"},
    {0x0900, 0x097F, "hi"},
    {0x0980, 0x09FF, "bn"},
    {0x0A00, 0x0A7F, "pa"},
    {0x0A80, 0x0AFF, "gu"},
    {0x0B80, 0x0BFF, "ta"},
    {0x0C00, 0x0C7F, "te"},
    {0x0C80, 0x0CFF, "kn"},
    {0x0D00, 0x0D7F, "ml"},
    {0x0E00, 0x0E7F, "th"},
    {0x0E80, 0x0EFF, "lo"},
    {0x1000, 0x109F, "my"},
    {0x10A0, 0x10FF, "ka"},
    {0x1100, 0x11FF, "ko", kIdeographWeight},
    {0x1200, 0x137F, "am"},
    {0x1780, 0x17FF, "km"},
    {0x1E00, 0x1EFF, "latin"},
    {0x1F00, 0x1FFF, "el"},
    {0x3040, 0x30FF, "kana", kIdeographWeight},
    {0x3400, 0x4DBF, "han", kIdeographWeight},
    {0x4E00, 0x9FFF, "han", kIdeographWeight},
    {0xAC00, 0xD7AF, "ko", kIdeographWeight},
    {0xF900, 0xFAFF, "han", kIdeographWeight},
    {0x20000, 0x3FFFF, "han", kIdeographWeight},
});

struct Letters {
  std::string_view language;
  std::u32string_view letters;  // letters that the other languages of the script lack
};

// The first language is the default if no distinctive letter occurs.
constexpr auto kCyrillic = std::to_array<Letters>({
    {"ru", U"\u044B\u044D\u0451"},              // ы э ё
    {"uk", U"\u0456\u0457\u0454\u0491"},        // і ї є ґ
    {"be", U"\u045E"},                          // ў
    {"sr", U"\u0452\u045B\u0459\u045A\u045F"},  // ђ ћ љ њ џ
    {"mk", U"\u0453\u045C\u0455"},              // ѓ ќ ѕ
    {"bg", U"\u044A"},                          // ъ, rare elsewhere
});
constexpr auto kArabic = std::to_array<Letters>({
    {"ar", U"\u0629\u0649\u0643\u064A"},              // ة ى ك ي
    {"fa", U"\u067E\u0686\u0698\u06AF\u06CC\u06A9"},  // پ چ ژ گ ی ک
    {"ur", U"\u0679\u0688\u0691\u06D2\u06BA\u06C1"},  // ٹ ڈ ڑ ے ں ہ
});

using Shares = LanguageShares;

const Script* script_of(char32_t c) {
  const auto after =
      std::upper_bound(kScripts.begin(), kScripts.end(), c,
                       [](char32_t value, const Script& script) { return value < script.first; });
  if (after == kScripts.begin() || c > std::prev(after)->last) return nullptr;
  return &*std::prev(after);
}

using LanguageList = std::vector<std::string_view>;  // languages that have a word or a letter

void add_language(LanguageList& languages, std::string_view language) {
  if (languages.empty() || languages.back() != language) languages.push_back(language);
}

const std::unordered_map<std::string_view, LanguageList>& word_table() {
  static const auto table = [] {
    std::unordered_map<std::string_view, LanguageList> out;
    for (const LanguageWords& each : kLatinLanguages) {
      for (std::string_view rest = each.words; !rest.empty();) {
        const size_t end = std::min(rest.find(' '), rest.size());
        add_language(out[rest.substr(0, end)], each.language);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return out;
  }();
  return table;
}

const std::unordered_map<char32_t, LanguageList>& letter_table() {
  static const auto table = [] {
    std::unordered_map<char32_t, LanguageList> out;
    for (const LanguageWords& each : kLatinLanguages) {
      for (size_t i = 0; i < each.letters.size();) {
        const utf8::Decoded at = utf8::decode(each.letters, i);
        add_language(out[at.code_point], each.language);
        i += at.bytes;
      }
    }
    return out;
  }();
  return table;
}

// Shares of the languages that use the Latin script; they add up to 1, or to kGuess.
Shares latin_shares(std::string_view normalized) {
  Shares shares;
  double total = 0;
  // A word or letter of one language is stronger evidence than one that many languages share.
  const auto count = [&](const LanguageList& languages, double weight) {
    const auto n = static_cast<double>(languages.size());
    for (const std::string_view language : languages) shares[language] += weight / (n * n);
    total += weight / n;
  };
  std::vector<text::TextUnit> units;
  text::split_units(normalized, units);
  for (const text::TextUnit& unit : units) {
    const auto found = word_table().find(normalized.substr(unit.begin, unit.end - unit.begin));
    if (found != word_table().end()) count(found->second, 1);
  }
  for (size_t i = 0; i < normalized.size();) {
    const utf8::Decoded at = utf8::decode(normalized, i);
    i += at.bytes;
    const auto found =
        at.code_point < 0x80 ? letter_table().end() : letter_table().find(at.code_point);
    if (found != letter_table().end()) count(found->second, kLetterWeight);
  }
  if (total == 0) return {{"en", kGuess}};
  for (auto& [language, share] : shares) share /= total;
  return shares;
}

template <size_t N>
Shares letter_shares(const std::map<char32_t, double>& counts,
                     const std::array<Letters, N>& languages) {
  Shares shares;
  double total = 0;
  for (const Letters& each : languages) {
    for (const char32_t letter : each.letters) {
      const auto found = counts.find(letter);
      if (found == counts.end()) continue;
      shares[each.language] += found->second;
      total += found->second;
    }
  }
  if (total == 0) return {{languages.front().language, 1}};
  for (auto& [language, share] : shares) share /= total;
  return shares;
}

using Languages = std::span<const std::string>;

bool has_language(Languages languages, std::string_view language) {
  return std::ranges::find(languages, language) != languages.end();
}

bool is_latin(std::string_view language) {
  return std::ranges::find(kLatinLanguages, language, &LanguageWords::language) !=
         kLatinLanguages.end();
}

bool has_letter_beyond(std::string_view word, Languages supported) {
  for (size_t i = 0; i < word.size();) {
    const utf8::Decoded at = utf8::decode(word, i);
    i += at.bytes;
    if (at.code_point < 0x80) continue;
    const auto found = letter_table().find(at.code_point);
    if (found != letter_table().end() && std::ranges::none_of(found->second, [&](auto each) {
          return has_language(supported, each);
        }))
      return true;
  }
  return false;
}

bool is_in_other_words(std::string_view normalized, Languages supported) {
  std::vector<std::string_view> different;  // up to kOtherWords
  size_t other = 0, own = 0;
  bool is_listed = false;
  std::vector<text::TextUnit> units;
  text::split_units(normalized, units);
  for (const text::TextUnit& unit : units) {
    const std::string_view word = normalized.substr(unit.begin, unit.end - unit.begin);
    const auto found = word_table().find(word);
    const bool listed = found != word_table().end();
    const std::ptrdiff_t of_supported =
        listed ? std::ranges::count_if(found->second,
                                       [&](auto l) { return has_language(supported, l); })
               : 0;
    if (listed && of_supported == std::ssize(found->second)) ++own;
    const bool is_other = listed && of_supported == 0;
    if (!is_other && !has_letter_beyond(word, supported)) continue;
    ++other;
    if (word.size() == 1) continue;  // the name of a variable, a list item
    is_listed = is_listed || is_other;
    if (different.size() < kOtherWords && std::ranges::find(different, word) == different.end())
      different.push_back(word);
  }
  return different.size() >= (is_listed ? kOtherWordsListed : kOtherWords) &&
         other >= kOtherPerSupported * own;
}

double weight_of_letters(std::string_view normalized) {
  double weight = 0;
  for (size_t i = 0; i < normalized.size();) {
    const utf8::Decoded at = utf8::decode(normalized, i);
    i += at.bytes;
    if (const Script* script = script_of(at.code_point)) weight += script->weight;
  }
  return weight;
}

class LanguageSignals : public NamedSignals<config::LanguageSignal> {
 public:
  using NamedSignals::NamedSignals;
  std::string_view type() const override { return "language"; }
  Needs needs() const override { return Needs::kRequest; }
  Wording wording() const override { return {"share", ""}; }
  std::optional<double> threshold(size_t signal) const override {
    const double own = signals_[signal].threshold;
    return own > 0 ? own : kDefaultShare;
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const Shares shares = language_shares(inputs.request().user_text());
    double greatest = 0;
    for (const auto& [language, share] : shares) greatest = std::max(greatest, share);
    for (size_t i = 0; i < signals_.size(); ++i) {
      const auto found = shares.find(signals_[i].name);
      const double share = found == shares.end() ? 0 : std::min(found->second, 1.0);
      const bool matched = share >= *threshold(i) && found->second == greatest;
      out[i] = {matched, matched ? share : 0, share};
    }
    return {};
  }
};

}  // namespace

LanguageShares language_shares(std::string_view text) {
  std::string normalized;
  text::normalize(text.substr(0, kReadBytesMax), true, normalized);
  std::map<std::string_view, double> scripts;
  std::map<char32_t, double> letters;
  double total = 0;
  for (size_t i = 0; i < normalized.size();) {
    const utf8::Decoded at = utf8::decode(normalized, i);
    i += at.bytes;
    const Script* script = script_of(at.code_point);
    if (script == nullptr) continue;
    scripts[script->name] += script->weight;
    total += script->weight;
    if (at.code_point >= 0x0400 && at.code_point < 0x0700) ++letters[at.code_point];
  }
  if (total == 0) return {{"en", kGuess}};
  // Chinese text has no kana, and Japanese text nearly always has some.
  if (scripts.contains("kana")) {
    scripts["ja"] = scripts["kana"] + scripts["han"];
    scripts.erase("han");
  } else if (scripts.contains("han")) {
    scripts["zh"] = scripts["han"];
  }
  Shares out;
  for (const auto& [name, weight] : scripts) {
    const double share = weight / total;
    const auto add = [&](const Shares& inside) {
      for (const auto& [language, part] : inside) out[language] += share * part;
    };
    if (name == "latin") {
      add(latin_shares(normalized));
    } else if (name == "cyrillic") {
      add(letter_shares(letters, kCyrillic));
    } else if (name == "arabic") {
      add(letter_shares(letters, kArabic));
    } else if (name != "han" && name != "kana") {
      add({{name, 1}});
    }
  }
  return out;
}

std::string_view unsupported_language(std::string_view text, Languages supported) {
  const Shares shares = language_shares(text);
  const auto best = std::ranges::max_element(shares, {}, &Shares::value_type::second);
  if (best == shares.end() || has_language(supported, best->first)) return {};
  std::string normalized;
  text::normalize(text.substr(0, kReadBytesMax), true, normalized);
  double other = 0;
  for (const auto& [language, share] : shares) {
    if (!is_latin(language) && !has_language(supported, language)) other += share;
  }
  const bool is_other_script =
      other >= kOtherScriptShare && other * weight_of_letters(normalized) >= kOtherScriptWeight;
  const bool is_certain = is_other_script || is_in_other_words(normalized, supported);
  return is_certain ? best->first : std::string_view{};
}

SignalTypeResult language_signals(const std::vector<config::LanguageSignal>& signals) {
  return std::make_unique<LanguageSignals>(signals);
}

}  // namespace signalbox::signals
