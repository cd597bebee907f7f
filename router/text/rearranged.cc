// The letters of each word are moved by the number that makes them most likely in English, and a
// change of that number between two words has a price. So words that are plain stay as they are,
// and a single word decides nothing. The most likely numbers are found like the states of a hidden
// Markov model (Viterbi). A stretch counts only if it has common words, because names, identifiers
// and other languages can be more likely when they are moved. Plain words between moved ones can be
// moved, too, and a reversed line may hold plain words. Pairs of letters show whether it happened.

#include "router/text/rearranged.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"
#include "router/text/letter_pairs.h"

namespace signalbox::text {
namespace {

constexpr size_t kLetters = 26;
constexpr size_t kBlockBytes = 16 << 10;     // are read together, which bounds the memory
constexpr size_t kWordBytes = 6;             // an English word with its space
constexpr float kPrice = 10;                 // about seven letters in favour of another number
using Scores = std::array<float, kLetters>;  // by the number of letters to move by

// The logarithms of the shares of letters in English text.
constexpr Scores kLogShares = {-2.50F, -4.20F, -3.58F, -3.15F, -2.06F, -3.82F, -3.91F,
                               -2.80F, -2.66F, -6.50F, -4.87F, -3.22F, -3.73F, -2.70F,
                               -2.59F, -3.96F, -6.96F, -2.81F, -2.76F, -2.40F, -3.58F,
                               -4.63F, -3.73F, -6.50F, -3.91F, -7.21F};

// The scores of each letter.
constexpr auto kScores = [] {
  std::array<Scores, kLetters> out{};
  for (size_t letter = 0; letter < kLetters; ++letter) {
    for (size_t by = 0; by < kLetters; ++by) out[letter][by] = kLogShares[(letter + by) % kLetters];
  }
  return out;
}();

// Words that most English texts contain, or many requests. Shorter ones are words of other
// languages, too.
constexpr auto kCommon = std::to_array<std::string_view>(
    {"about",  "above",   "all",   "and",    "answer",       "any",   "are",    "been",
     "before", "but",     "can",   "could",  "explain",      "for",   "from",   "give",
     "has",    "have",    "how",   "ignore", "instructions", "into",  "its",    "list",
     "make",   "message", "more",  "not",    "one",          "out",   "please", "previous",
     "print",  "repeat",  "rules", "should", "show",         "some",  "system", "tell",
     "text",   "that",    "the",   "their",  "then",         "there", "these",  "they",
     "this",   "was",     "were",  "what",   "when",         "where", "which",  "who",
     "why",    "will",    "with",  "word",   "words",        "would", "write",  "you",
     "your"});

struct MovedWord {
  size_t begin = 0, end = 0;
  uint32_t changed = 0;  // the numbers that are better reached from `from` than from themselves
  uint8_t from = 0;      // the best number before this word
  uint8_t by = 0;
};

size_t best_of(const Scores& scores) {
  return static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
}

Scores scores_of(std::string_view text) {
  Scores out{};
  for (const char c : text) {
    if (!ascii::is_alpha(c)) continue;
    const Scores& letter = kScores[static_cast<size_t>(ascii::lower(c) - 'a')];
    for (size_t by = 0; by < kLetters; ++by) out[by] += letter[by];
  }
  return out;
}

// Returns the words from `at` on, at most kBlockBytes, and sets `at` to their end.
std::vector<MovedWord> words_of(std::string_view text, size_t& at) {
  std::vector<MovedWord> out;
  const size_t stop = std::min(text.size(), at + kBlockBytes);
  while (at < stop) {
    const size_t begin = at;
    while (at < stop && ascii::is_word_byte(text[at])) ++at;
    if (std::ranges::all_of(text.substr(begin, at - begin), ascii::is_alpha) && at > begin)
      out.push_back({.begin = begin, .end = at});
    if (at == begin) ++at;
  }
  return out;
}

void find_numbers(std::string_view text, std::vector<MovedWord>& words) {
  Scores total{};
  for (size_t by = 1; by < kLetters; ++by) total[by] = -kPrice;
  for (MovedWord& word : words) {
    const size_t from = best_of(total);
    const float changed = total[from] - kPrice;
    word.from = static_cast<uint8_t>(from);
    const Scores own = scores_of(text.substr(word.begin, word.end - word.begin));
    for (size_t by = 0; by < kLetters; ++by) {
      if (total[by] < changed) {
        total[by] = changed;
        word.changed |= uint32_t{1} << by;
      }
      total[by] += own[by];
    }
  }
  size_t by = best_of(total);
  for (size_t w = words.size(); w-- > 0;) {
    words[w].by = static_cast<uint8_t>(by);
    if ((words[w].changed >> by & 1) != 0) by = words[w].from;
  }
}

std::string moved(std::string_view text, size_t by) {
  std::string out(text);
  for (char& c : out) {
    if (!ascii::is_alpha(c)) continue;
    const char first = ascii::is_upper(c) ? 'A' : 'a';
    c = static_cast<char>(first + (static_cast<size_t>(c - first) + by) % kLetters);
  }
  return out;
}

bool is_common(std::string_view word) {
  static_assert(std::ranges::is_sorted(kCommon));
  constexpr size_t kShortest = 3, kLongest = 12;
  if (word.size() < kShortest || word.size() > kLongest) return false;
  return std::ranges::binary_search(kCommon, std::string_view(ascii::lower_case(word)));
}

size_t english_words(std::string_view text) {
  size_t found = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && ascii::is_word_byte(text[at])) ++at;
    found += is_common(text.substr(begin, at - begin)) ? 1 : 0;
  }
  return found;
}

bool is_english(std::string_view moved, std::string_view plain, size_t words) {
  constexpr size_t kLeast = 2, kOneIn = 10;
  const size_t common = english_words(moved);
  return common >= std::max(kLeast, words / kOneIn) && common > 2 * english_words(plain);
}

int likelihood(std::string_view word) {
  constexpr int kCommonGain = 8;
  return word_likelihood(word) + (is_common(word) ? kCommonGain : 0);
}

// Returns whether change(word) makes no plain word unreadable: no word is clearly better as it
// stands, and of four words in a row, all of them together are clearly better when changed. A word
// with digits and letters may be a plain one in disguise, but not a number with one letter.
template <class Change>
bool keeps_plain_words(std::string_view text, const Change& change) {
  constexpr int kPlain = 6, kClear = 4;  // half units
  constexpr size_t kInARow = 4;
  std::array<int, kInARow> gains{};
  size_t words = 0;
  const auto is_clear = [&] { return std::accumulate(gains.begin(), gains.end(), 0) >= kClear; };
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && ascii::is_word_byte(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    const auto letters = std::ranges::count_if(word, ascii::is_alpha);
    const bool is_number = std::ranges::all_of(word, ascii::is_alnum) && letters < 2;
    if (letters == 0 || (is_number && word.size() > 1)) continue;
    if (!std::ranges::all_of(word, ascii::is_alpha)) return false;
    const std::string changed = change(word);
    const int gain = likelihood(changed) - likelihood(word);
    gains[words++ % kInARow] = gain;
    if (gain < -kPlain || (words >= kInARow && !is_clear())) return false;
  }
  return is_clear();
}

// Returns the text with its moved words moved back; nullopt if it has none.
std::optional<Rearranged> moved_back(std::string_view text) {
  Rearranged out{.text = {}, .is_complete = true};
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    std::vector<MovedWord> words = words_of(text, at);
    find_numbers(text, words);
    for (size_t w = 0, next = 0; w < words.size(); w = next) {
      for (next = w + 1; next < words.size() && words[next].by == words[w].by;) ++next;
      if (words[w].by == 0) continue;
      const size_t begin = words[w].begin;
      const std::string_view plain = text.substr(begin, words[next - 1].end - begin);
      const std::string found = moved(plain, words[w].by);
      if (!is_english(found, plain, next - w)) continue;
      out.text.append(text.substr(copied, begin - copied)).append(found);
      copied = begin + plain.size();
      const auto change = [by = words[w].by](std::string_view word) { return moved(word, by); };
      out.is_complete = out.is_complete && keeps_plain_words(plain, change);
    }
  }
  if (copied == 0) return std::nullopt;
  out.text += text.substr(copied);
  return out;
}

std::string reversed(std::string_view text) {
  std::string out(text);
  size_t left = text.size();
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8::decode(text, at).bytes;
    left -= bytes;
    text.copy(&out[left], bytes, at);
    at += bytes;
  }
  return out;
}

// Returns the text with its reversed lines in their order; nullopt if it has none.
std::optional<Rearranged> turned_back(std::string_view text) {
  Rearranged out{.text = {}, .is_complete = true};
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string found = reversed(line);
    if (is_english(found, line, line.size() / kWordBytes)) {
      out.text.append(text.substr(copied, at - copied)).append(found);
      copied = end;
      const bool is_ascii =
          std::ranges::all_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
      out.is_complete = out.is_complete && is_ascii && keeps_plain_words(line, reversed);
    }
    at = end + 1;
  }
  if (copied == 0) return std::nullopt;
  out.text += text.substr(copied);
  return out;
}

}  // namespace

std::optional<Rearranged> rearranged(std::string_view text) {
  if (auto moved = moved_back(text)) return moved;
  return turned_back(text);
}

}  // namespace signalbox::text
