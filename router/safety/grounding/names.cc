// A name is known if all its words are, wherever they stand.

#include "router/safety/grounding/names.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace signalbox::grounding {
namespace {

using namespace text;

bool capitalises_nouns(const ReadText& text) {
  constexpr std::string_view kGerman[] = {"die", "das", "und",  "ist",  "mit", "nicht",
                                          "ein", "auf", "eine", "wird", "im",  "sich"};
  std::array<bool, std::size(kGerman)> seen = {};
  for (const Token& token : text.tokens()) {
    const auto found = std::ranges::find(kGerman, token.text);
    if (found != std::end(kGerman)) seen[found - std::begin(kGerman)] = true;
  }
  return std::ranges::count(seen, true) >= 2;
}

}  // namespace

NameCheck::NameCheck(const KnownWords& words, const ReadText& answer)
    : words_(words), text_(answer), capitals_mark_names_(!capitalises_nouns(answer)) {}

bool NameCheck::is_known(const Name& name, const Token& token) const {
  if (token.kind == TokenKind::kSymbol || (!name.code && !is_upper_start(token.text))) return true;
  if (unit_named(token.lower) || is_common_word(token.lower) || is_everyday_acronym(token.text) ||
      token.text.size() < 2 || words_.contain(token))
    return true;
  // "the World Health Organization (WHO)" explains its acronym.
  return is_all_upper(token.text.substr(0, token.lower.size())) &&
         initials_.contains(std::string(token.lower));
}

// The name may go on behind "and": "National Aeronautics and Space Administration".
bool NameCheck::has_known_initials(const Facts& facts, size_t i) const {
  if (words_.contain_initials(text_, facts.names[i])) return true;
  const auto together = [&](const Name& a, const Name& b) {
    return a.last_token + 1 == b.first_token && text_.at(a.last_token).is("and") &&
           words_.contain_initials(text_, {a.first_token, b.last_token});
  };
  return (i > 0 && together(facts.names[i - 1], facts.names[i])) ||
         (i + 1 < facts.names.size() && together(facts.names[i], facts.names[i + 1]));
}

// A label such as "**Cable Length:** 6 m" or "| Battery Life | 9 h |" may use words of its own.
bool NameCheck::is_label(const Sentence& sentence, const Name& name) const {
  const auto is_mark = [](const Token& token) {
    return is_one_of(token.lower, {"*", "_", "-", "•", "–", "|", "#", ">"});
  };
  size_t before = name.first_token;
  while (before > sentence.first_token && text_.at(before - 1).is("*")) --before;
  size_t after = name.last_token;
  while (text_.at(after).is("*")) ++after;
  return (before == sentence.first_token || is_mark(text_.at(before - 1))) &&
         is_one_of(text_.at(after).lower, {":", "|"});
}

std::vector<Name> NameCheck::unknown(const Sentence& sentence, const Facts& facts) {
  std::vector<Name> out;
  for (size_t i = 0; capitals_mark_names_ && i < facts.names.size(); ++i) {
    const Name& name = facts.names[i];
    add_initials(text_, name, initials_);
    uint32_t first = name.first_token, last = name.last_token;
    while (first < last && is_known(name, text_.at(first))) ++first;
    while (last > first && is_known(name, text_.at(last - 1))) --last;
    // The first word of a sentence is capitalised anyway, so alone it is not a name.
    const bool opening = first == sentence.first_token && last == first + 1 && !name.code &&
                         name.last_token > name.first_token + 1;
    if (opening || first == last || has_known_initials(facts, i)) continue;
    if (last - first < name.last_token - name.first_token && is_label(sentence, name)) continue;
    out.push_back({.first_token = first, .last_token = last, .code = name.code});
  }
  return out;
}

}  // namespace signalbox::grounding
