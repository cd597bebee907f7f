// Commas that stand close to each other, up to an "and"; lines that begin with marks of a list,
// which count for the sentence before them.

#include "router/safety/grounding/items.h"

#include <algorithm>
#include <vector>

#include "router/safety/grounding/facts.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kApart = 8;        // tokens between two commas of one enumeration, at most
constexpr size_t kPerSentence = 4;  // enumerations of one sentence that are noted
constexpr size_t kItemsMax = 64;
constexpr size_t kWordsMax = 256;  // of a sentence that is asked about

// Sizes of the enumerations within a sentence.
std::vector<size_t> sizes_in(const ReadText& text, const Sentence& sentence) {
  std::vector<size_t> out;
  size_t commas = 0, since = 0;
  for (size_t i = sentence.first_token; i < sentence.last_token; ++i, ++since) {
    const Token& token = text.at(i);
    if (since > kApart) commas = 0;
    size_t size = 0;
    if (token.is(",") || token.is(";")) {
      ++commas;
      since = 0;
      if (!is_one_of(text.at(i + 1).lower, {"and", "or"})) continue;
      size = commas + 1;
      ++i;
    } else if (is_one_of(token.lower, {"and", "or", "&"})) {
      size = commas + 2;
    } else {
      continue;
    }
    commas = 0;
    if (out.size() < kPerSentence) out.push_back(size);
  }
  return out;
}

// And no line of dashes.
bool says_something(const ReadText& text, const Sentence& sentence) {
  return std::any_of(text.tokens().begin() + sentence.first_token,
                     text.tokens().begin() + sentence.last_token,
                     [](const Token& token) { return token.kind != TokenKind::kSymbol; });
}

}  // namespace

bool is_row(const ReadText& text, const Sentence& sentence) {
  return std::count_if(text.tokens().begin() + sentence.first_token,
                       text.tokens().begin() + sentence.last_token,
                       [](const Token& token) { return token.is("|"); }) > 1;
}

bool is_item(const ReadText& text, const Sentence& sentence) {
  const Token& first = text.at(sentence.first_token);
  const Token& second = text.at(sentence.first_token + 1);
  return is_one_of(first.lower, {"-", "*", "•", "–"}) ||
         (first.kind == TokenKind::kNumber && is_one_of(second.lower, {".", ")"}));
}

std::string_view stem_of(std::string_view word) {
  if (word.size() > 4 && word.ends_with("es")) return word.substr(0, word.size() - 2);
  if (word.size() > 3 && (word.ends_with('s') || word.ends_with('e')))
    return word.substr(0, word.size() - 1);
  return word;
}

void Enumerations::note(size_t count, const ReadText& text, const Sentence& sentence) {
  if (count < 2 || count > kItemsMax) return;
  Words& words = words_[count];
  for (size_t i = sentence.first_token; i < sentence.last_token; ++i) {
    const Token& token = text.at(i);
    if (token.kind == TokenKind::kWord && !is_common_word(token.lower))
      words.insert(stem_of(token.lower));
  }
}

void Enumerations::add(const ReadText& text) {
  const Sentence* title = nullptr;  // of the list that is being read, or the head of the table
  size_t items = 0;
  bool table = false;
  for (const Sentence& sentence : text.sentences()) {
    const bool row = is_row(text, sentence);
    if (table && row) {
      items += says_something(text, sentence);
      continue;
    }
    if (!row && is_item(text, sentence)) {
      ++items;
      continue;
    }
    table = row;
    if (title != nullptr) note(items, text, *title);
    title = &sentence;
    items = 0;
    for (const size_t size : sizes_in(text, sentence)) note(size, text, sentence);
  }
  if (title != nullptr) note(items, text, *title);
}

bool Enumerations::hold(size_t count, const ReadText& text, const Sentence& sentence) const {
  const auto found = words_.find(count);
  if (found == words_.end()) return false;
  const size_t end = std::min<size_t>(sentence.last_token, sentence.first_token + kWordsMax);
  for (size_t i = sentence.first_token; i < end; ++i) {
    const Token& token = text.at(i);
    if (token.kind == TokenKind::kWord && !is_common_word(token.lower) &&
        found->second.contains(stem_of(token.lower)))
      return true;
  }
  return false;
}

}  // namespace signalbox::grounding
