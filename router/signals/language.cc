// Detects languages. The script of a letter leaves one language or a few. If it leaves several,
// letters that only some of them have, or their frequent words, decide. A table of n-grams was
// rejected: it would be larger than this whole file, and requests that are routed by language have
// at least a few words.

#include "router/signals/language.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
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

// The evidence that a text needs to count as one in another language. It is in Latin letters or in
// other scripts.
struct LanguageEvidence {
  // Least number of different words of one language. One of them is in the list, because names and
  // loan words have foreign letters, too.
  size_t words;
  // Least number of words of other languages for each word that only supported languages have.
  // nullopt: the text may have no such word, whatever its script is.
  std::optional<size_t> per_supported;
  // Least share of words of other languages among all. More would lose Italian and Indonesian,
  // which have few words in the lists.
  double share;
  // Least share and weight of the letters of other scripts.
  double script_share, script_weight;
};
constexpr LanguageEvidence kCertainLanguage{
    .words = 3, .per_supported = 3, .share = 0.15, .script_share = 0.6, .script_weight = 12};
constexpr LanguageEvidence kLikelyLanguage{.words = 1,
                                           .per_supported = std::nullopt,
                                           .share = 0.1,
                                           .script_share = 0.6,
                                           .script_weight = 4};
constexpr std::string_view kUndetermined = "und";  // BCP 47

using Shares = LanguageShares;

// Returns nullptr for a character that is not a letter.
const Script* script_of(char32_t c) {
  static constexpr Script kAnyOther{0, 0, kUndetermined};
  const auto after =
      std::upper_bound(kScripts.begin(), kScripts.end(), c,
                       [](char32_t value, const Script& script) { return value < script.first; });
  if (after != kScripts.begin() && c <= std::prev(after)->last) return &*std::prev(after);
  return text::is_letter(c) ? &kAnyOther : nullptr;
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

Shares shares_of(std::string_view normalized) {
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

using Languages = std::span<const std::string>;

bool has_language(Languages languages, std::string_view language) {
  return std::ranges::find(languages, language) != languages.end();
}

bool is_latin(std::string_view language) {
  return std::ranges::find(kLatinLanguages, language, &LanguageWords::language) !=
         kLatinLanguages.end();
}

// Returns the languages of the first letter that no supported language has; nullptr if there is
// none.
const LanguageList* languages_of_letters(std::string_view word, Languages supported) {
  for (size_t i = 0; i < word.size();) {
    const utf8::Decoded at = utf8::decode(word, i);
    i += at.bytes;
    if (at.code_point < 0x80) continue;
    const auto found = letter_table().find(at.code_point);
    if (found != letter_table().end() && std::ranges::none_of(found->second, [&](auto each) {
          return has_language(supported, each);
        }))
      return &found->second;
  }
  return nullptr;
}

bool stands_alone(std::string_view word) {
  const utf8::Decoded first = utf8::decode(word, 0);
  return first.bytes == word.size() && text::kind_of(first.code_point) == text::CharKind::kWord;
}

const Script* script_of_word(std::string_view word) {
  for (size_t i = 0; i < word.size();) {
    const utf8::Decoded at = utf8::decode(word, i);
    i += at.bytes;
    if (const Script* script = script_of(at.code_point)) return script;
  }
  return nullptr;
}

// Leaves out numbers and letters that stand alone: variables, items of lists.
std::vector<std::string_view> words_of(std::string_view normalized) {
  std::vector<text::TextUnit> units;
  text::split_units(normalized, units);
  std::vector<std::string_view> out;
  for (const text::TextUnit& unit : units) {
    const std::string_view word = normalized.substr(unit.begin, unit.end - unit.begin);
    if (!stands_alone(word) && script_of_word(word) != nullptr) out.push_back(word);
  }
  return out;
}

// The words of a text in Latin letters.
struct WordCounts {
  struct OfLanguage {
    std::set<std::string_view> words;
    bool is_listed = false;
  };
  std::map<std::string_view, OfLanguage> found;  // by language that is not supported
  size_t all = 0;
  size_t other = 0;  // of languages that are not supported
  size_t own = 0;    // of supported languages alone
};

WordCounts count_words(std::span<const std::string_view> words, Languages supported) {
  WordCounts out;
  for (const std::string_view word : words) {
    if (script_of_word(word)->name != "latin") continue;
    ++out.all;
    const auto listed = word_table().find(word);
    const LanguageList* languages = listed == word_table().end() ? nullptr : &listed->second;
    const std::ptrdiff_t of_supported =
        languages == nullptr ? 0 : std::ranges::count_if(*languages, [&](auto each) {
          return has_language(supported, each);
        });
    if (languages != nullptr && of_supported == std::ssize(*languages)) ++out.own;
    const bool is_listed = languages != nullptr && of_supported == 0;
    if (!is_listed) languages = languages_of_letters(word, supported);
    if (languages == nullptr) continue;
    ++out.other;
    for (const std::string_view language : *languages) {
      out.found[language].words.insert(word);
      out.found[language].is_listed |= is_listed;
    }
  }
  return out;
}

bool is_in_other_words(const WordCounts& words, const LanguageEvidence& needed) {
  const auto other = static_cast<double>(words.other);
  return other >= static_cast<double>(needed.per_supported.value_or(0) * words.own) &&
         other >= needed.share * static_cast<double>(words.all) &&
         std::ranges::any_of(words.found, [&](const auto& each) {
           return each.second.is_listed && each.second.words.size() >= needed.words;
         });
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

std::string_view find_unsupported(std::string_view text, Languages supported,
                                  const LanguageEvidence& needed) {
  std::string normalized;
  text::normalize(text, true, normalized);
  const bool is_ascii = std::ranges::all_of(normalized, [](char c) { return (c & 0x80) == 0; });
  if (!is_ascii) normalized = text::compose(normalized);
  const std::vector<std::string_view> words = words_of(normalized);
  const WordCounts counts = count_words(words, supported);
  if (!needed.per_supported && counts.own > 0) return {};
  const bool is_other_words = is_in_other_words(counts, needed);
  // Most texts end here.
  if (!is_other_words && is_ascii) return {};
  const std::string joined = fmt::format("{}", fmt::join(words, " "));
  double other = 0, other_best = 0, latin_best = 0;
  std::string_view other_language = kUndetermined, latin_language = kUndetermined;
  for (const auto& [language, share] : shares_of(joined)) {
    if (has_language(supported, language)) continue;
    const bool latin = is_latin(language);
    if (!latin) other += share;
    double& best = latin ? latin_best : other_best;
    if (share <= best) continue;
    best = share;
    (latin ? latin_language : other_language) = language;
  }
  if (other >= needed.script_share && other * weight_of_letters(joined) >= needed.script_weight)
    return other_language;
  return is_other_words ? latin_language : std::string_view{};
}

}  // namespace

LanguageShares language_shares(std::string_view text) {
  std::string normalized;
  text::normalize(text.substr(0, kReadBytesMax), true, normalized);
  return shares_of(normalized);
}

std::string_view unsupported_language(std::string_view text, Languages supported) {
  return find_unsupported(text, supported, kCertainLanguage);
}

bool is_likely_unsupported(std::string_view text, Languages supported) {
  return !find_unsupported(text, supported, kLikelyLanguage).empty();
}

SignalTypeResult language_signals(const std::vector<config::LanguageSignal>& signals) {
  return std::make_unique<LanguageSignals>(signals);
}

}  // namespace signalbox::signals
