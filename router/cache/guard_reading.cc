// Removes quotations and code from the text, then numbers and dates. From the remaining words it
// removes openings and words without meaning.

#include "router/cache/guard_reading.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.h"
#include "router/cache/guard_words.h"

namespace signalbox::cache {
namespace {

using namespace std::string_view_literals;
using text::ReadText;
using text::Token;
using text::TokenKind;

struct Mark {
  std::string_view open, close;
};
constexpr auto kQuotes = std::to_array<Mark>({{"```", "```"},
                                              {"`", "`"},
                                              {"\"", "\""},
                                              {"\u201C", "\u201D"},
                                              {"\u00AB", "\u00BB"},
                                              {"\u300C", "\u300D"}});

// Moves text between quotation marks to `quoted` and leaves spaces in its place.
void take_quotations(std::string& text, std::vector<std::string>& quoted) {
  for (size_t at = 0; at < text.size(); ++at) {
    for (const Mark& mark : kQuotes) {
      if (text.compare(at, mark.open.size(), mark.open) != 0) continue;
      const size_t begin = at + mark.open.size();
      const size_t end = text.find(mark.close, begin);
      if (end == std::string::npos) continue;
      quoted.push_back(text.substr(begin, end - begin));
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                text.begin() + static_cast<std::ptrdiff_t>(end + mark.close.size()), ' ');
      at = end + mark.close.size() - 1;
      break;
    }
  }
}

// True if a run without spaces looks like code: "std::sort", "foo_bar", "a->b", "f()", "x@y.org",
// "https://...", "--force".
bool is_code(std::string_view run) {
  for (const std::string_view mark : {"::"sv, "_"sv, "->"sv, "()"sv, "\\"sv, "@"sv, "://"sv}) {
    if (run.find(mark) != std::string_view::npos) return true;
  }
  return run.size() > 2 && run.starts_with("--");
}

void take_code(std::string& text, std::vector<std::string>& quoted) {
  for (size_t begin = 0; begin < text.size();) {
    if (ascii::is_space(text[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < text.size() && !ascii::is_space(text[end])) ++end;
    std::string_view run(text.data() + begin, end - begin);
    while (!run.empty() && ".,;:?!"sv.find(run.back()) != std::string_view::npos)
      run.remove_suffix(1);
    if (is_code(run)) {
      quoted.emplace_back(run);
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    begin = end;
  }
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

struct Word {
  std::string lower;
  bool is_name = false;
  bool is_symbol = false;      // stands for a number, a date or a symbol
  bool is_possessive = false;  // "France's"
};

bool is_punctuation(std::string_view symbol) {
  static constexpr auto kMarks = std::to_array<std::string_view>(
      {".", ",",  ";", ":",      "?",      "!",      "(",      ")",      "[",      "]",
       "'", "\"", "-", "\u2013", "\u2014", "\u2026", "\u2019", "\u2018", "\u00BF", "\u00A1"});
  return std::ranges::find(kMarks, symbol) != kMarks.end();
}

std::string normalize_number(std::string_view written) {
  std::string out;
  for (const char c : written) {
    if (c != ',' && c != '\'') out.push_back(c);
  }
  return out;
}

std::string normalize_apostrophes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool curved = text.starts_with("\u2019");
    out.push_back(curved ? '\'' : text.front());
    text.remove_prefix(curved ? 3 : 1);
  }
  return out;
}

// Splits "don't", "cannot" and "dont" into two words.
void add_word(const Token& token, bool first, std::vector<Word>& out) {
  std::string lower = normalize_apostrophes(token.lower);
  const bool is_name =
      !lower.starts_with("i'") && token.text != "I" &&
      (text::is_all_upper(token.text) || (!first && text::is_upper_start(token.text)));
  static constexpr auto kRuns = std::to_array<std::string_view>(
      {"dont", "doesnt", "didnt", "cant", "wont", "isnt", "arent", "wasnt", "werent", "couldnt",
       "shouldnt", "wouldnt", "hasnt", "havent"});
  std::string verb;
  if (lower.ends_with("n't")) {
    verb = lower.substr(0, lower.size() - 3);
  } else if (lower == "cannot") {
    verb = "can";
  } else if (std::ranges::find(kRuns, lower) != kRuns.end()) {
    verb = lower.substr(0, lower.size() - 2);
  }
  if (verb.empty()) {
    const bool is_possessive =
        token.lower.size() < token.text.size() && !is_filler(lower) &&
        !is_one_of(lower, {"who", "how", "where", "when", "why", "let", "he", "she"});
    out.push_back({std::move(lower), is_name, false, is_possessive});
    return;
  }
  if (verb == "ca" || verb == "can" || verb == "wo") verb = "can";
  out.push_back({std::move(verb), false});
  out.push_back({"not", false});
}

// A quantity or a date becomes a single word "#"; its other tokens are left out.
std::vector<Word> words_of(const ReadText& text, const Reading& reading) {
  std::vector<Word> out;
  std::vector<char> taken(text.tokens().size(), 0);
  const auto take = [&](uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; ++i) taken[i] = i == first ? 1 : 2;
  };
  for (const auto& date : reading.dates) take(date.first_token, date.last_token);
  for (const auto& quantity : reading.quantities) take(quantity.first_token, quantity.last_token);
  for (size_t i = 0; i < text.tokens().size(); ++i) {
    const Token& token = text.tokens()[i];
    if (taken[i] == 1) out.push_back({"#", false, true});
    if (taken[i] != 0) continue;
    const Token& before = text.at(i - 1);
    const bool first = i == 0 || before.kind == TokenKind::kSymbol;
    switch (token.kind) {
      case TokenKind::kWord:
        add_word(token, first, out);
        break;
      case TokenKind::kIdentifier:
        out.push_back({std::string(token.lower), true, true});
        break;
      case TokenKind::kNumber:
        out.push_back({normalize_number(token.text), false, true});
        break;
      case TokenKind::kSymbol: {
        const bool minus = token.text == "-" && !text.glued(i) && text.glued(i + 1);
        if (token.text == "&") {
          out.push_back({"and"});
        } else if (minus || !is_punctuation(token.text)) {
          out.push_back({std::string(token.text), false, true});
        }
        break;
      }
    }
  }
  return out;
}

std::string_view next_of(std::string_view& rest, char by) {
  const size_t end = std::min(rest.find(by), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

bool is_one_of_alternatives(std::string_view alternatives, const Word& word) {
  if (word.is_symbol || word.is_name) return false;
  while (!alternatives.empty()) {
    if (next_of(alternatives, '|') == word.lower) return true;
  }
  return false;
}

// Returns how many words from `at` on match the pattern, or nullopt if it does not match.
std::optional<size_t> match_length(std::string_view pattern, const std::vector<Word>& words,
                                   size_t at) {
  const size_t begin = at;
  while (!pattern.empty()) {
    std::string_view part = next_of(pattern, ' ');
    const bool is_optional = part.ends_with('?');
    if (is_optional) part.remove_suffix(1);
    if (at < words.size() && is_one_of_alternatives(part, words[at])) {
      ++at;
    } else if (!is_optional) {
      return std::nullopt;
    }
  }
  return at - begin;
}

// Removes the longest matching opening repeatedly, but never the whole question.
void strip_openings(std::vector<Word>& words) {
  for (int round = 0; round < 8; ++round) {
    const Opening* best = nullptr;
    size_t most = 0;
    for (const Opening& opening : openings()) {
      const auto taken = match_length(opening.pattern, words, 0);
      if (!taken || *taken <= most || *taken >= words.size()) continue;
      best = &opening;
      most = *taken;
    }
    if (best == nullptr) return;
    std::vector<Word> replacement;
    for (std::string_view rest = best->meaning; !rest.empty();)
      replacement.push_back({std::string(next_of(rest, ' '))});
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most));
    words.insert(words.begin(), replacement.begin(), replacement.end());
    if (!replacement.empty()) return;
  }
}

void strip_closings(std::vector<Word>& words) {
  static constexpr auto kClosings =
      std::to_array<std::string_view>({"please", "thanks", "thank you", "cheers", "to|for me|us"});
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view closing : kClosings) {
      const size_t length = static_cast<size_t>(std::ranges::count(closing, ' ')) + 1;
      if (words.size() <= length || !match_length(closing, words, words.size() - length)) continue;
      words.resize(words.size() - length);
      found = true;
    }
  }
}

std::string_view person_of(std::string_view word) {
  if (is_one_of(word, {"i", "me", "we", "us", "i'm", "i've", "we're", "myself"})) return "i";
  if (is_one_of(word, {"you", "you're", "yourself"})) return "you";
  if (is_one_of(word, {"my", "mine", "our", "ours"})) return "my";
  if (is_one_of(word, {"your", "yours"})) return "your";
  return {};
}

void sort_unique(std::vector<std::string>& words) {
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

// Reorders "France's capital" like "the capital of France".
void move_possessives(std::vector<Word>& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (!words[i].is_possessive || words[i + 1].is_symbol) continue;
    words[i].is_possessive = false;
    std::swap(words[i], words[i + 1]);
    ++i;
  }
}

void classify_words(const std::vector<Word>& words, Reading& out) {
  bool after_preposition = false;
  for (const Word& word : words) {
    const std::string& lower = word.lower;
    if (word.is_symbol || word.is_name) {
      out.words.push_back({word.is_symbol ? lower : basic_form(lower), word.is_name,
                           after_preposition ? size_t{1} : 0});
      after_preposition = false;
      continue;
    }
    if (is_one_of(lower, {"was", "were", "did", "had"})) {
      out.past = true;
    } else if (is_one_of(lower, {"will", "shall", "gonna"})) {
      out.future = true;
    } else if (is_one_of(lower, {"how", "why", "when", "where", "who", "whose", "whom"})) {
      out.kinds.push_back(lower);
    } else if (const std::string_view person = person_of(lower); !person.empty()) {
      out.persons.emplace_back(person);
    } else if (!is_filler(lower)) {
      out.words.push_back({basic_form(lower), false, after_preposition ? size_t{1} : 0});
      after_preposition = false;
      continue;
    }
    if (is_one_of(lower, {"in", "on", "at", "for", "of"})) after_preposition = true;
  }
}

}  // namespace

Reading read_question(std::string_view text) {
  Reading out;
  std::string plain(text);
  take_quotations(plain, out.quoted);
  take_code(plain, out.quoted);
  const ReadText read(plain);
  text::Facts facts;
  for (const text::Sentence& sentence : read.sentences())
    text::read_facts(read, sentence, true, facts);
  for (const text::Quantity& each : facts.quantities) {
    if (!each.vague || each.ordinal) out.quantities.push_back(each);
  }
  out.dates = std::move(facts.dates);
  std::vector<Word> words = words_of(read, out);
  strip_openings(words);
  strip_closings(words);
  move_possessives(words);
  classify_words(words, out);
  sort_unique(out.kinds);
  sort_unique(out.persons);
  // In a "how" question, "I" and "you" mean anyone.
  if (std::ranges::find(out.kinds, "how") != out.kinds.end()) {
    std::erase(out.persons, "i");
    std::erase(out.persons, "you");
  }
  return out;
}

}  // namespace signalbox::cache
