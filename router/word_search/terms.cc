// Terms of 32 bits halve the size of an index. Among 100,000 different words, a term that is
// searched for has the hash of another word with a probability of one in 43,000.

#include "router/word_search/terms.h"

#include <algorithm>
#include <unordered_set>

#include "base/ascii.h"
#include "base/fnv.h"
#include "base/utf8.h"
#include "router/text/normalize.h"

namespace signalbox::word_search {
namespace {

constexpr size_t kQueryBytesMax = size_t{16} << 10;  // of one text
constexpr size_t kCodeBytesMin = 3;

Term hash_of(std::string_view word) {
  Fnv hash;
  for (const char c : word) hash.add(static_cast<unsigned char>(c));
  uint64_t state = hash.get();
  state = (state ^ (state >> 32)) * 0x9E3779B97F4A7C15u;
  return static_cast<Term>(state >> 32);
}

/// True if a text in UTF-8 may have parts of letters: marks on Latin, Greek and Cyrillic letters
/// (U+0300 to U+036F), Hangul jamo (U+1100 to U+11FF) or voicing marks on kana (U+3099, U+309A).
/// Composing is much slower than all else, and most texts need none.
bool may_have_parts(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\xCC' || text[i] == '\xCD') return true;
    if (text[i] == '\xE1' && i + 1 < text.size() && text[i + 1] >= '\x84' && text[i + 1] <= '\x87')
      return true;
    if (text[i] == '\xE3' &&
        (text.substr(i).starts_with("\xE3\x82\x99") || text.substr(i).starts_with("\xE3\x82\x9A")))
      return true;
  }
  return false;
}

/// Calls `with` with each term of the text.
template <class With>
void each_term(std::string_view text, const With& with) {
  const std::string normal = normal_of(text);
  std::vector<text::TextUnit> units;
  text::split_units(normal, units);
  const std::string_view all = normal;
  const auto is_alone = [&](const text::TextUnit& unit) {
    return text::kind_of(utf8::decode(all, unit.begin).code_point) != text::CharKind::kUnseparated;
  };
  bool joins = false;  // the unit before, which is one character, has this one as its neighbour
  for (size_t i = 0; i < units.size(); ++i) {
    const text::TextUnit& unit = units[i];
    const bool has_neighbour = i + 1 < units.size() && units[i + 1].begin == unit.end &&
                               !is_alone(unit) && !is_alone(units[i + 1]);
    if (joins) {
      const uint32_t begin = units[i - 1].begin;
      with(all.substr(begin, unit.end - begin));
    } else if (!has_neighbour) {
      with(all.substr(unit.begin, unit.end - unit.begin));
    }
    joins = has_neighbour;
  }
}

}  // namespace

std::string normal_of(std::string_view text) {
  std::string out;
  text::normalize(text, true, out);
  return may_have_parts(out) ? text::compose(out) : out;
}

void add_terms(std::string_view text, std::vector<Term>& out) {
  each_term(text, [&](std::string_view word) { out.push_back(hash_of(word)); });
}

std::vector<QueryTerm> query_terms(std::span<const std::string_view> texts) {
  std::vector<QueryTerm> out;
  std::unordered_set<Term> known;
  for (const std::string_view text : texts) {
    each_term(text.substr(0, kQueryBytesMax), [&](std::string_view word) {
      const Term term = hash_of(word);
      if (out.size() == kQueryTermsMax || !known.insert(term).second) return;
      const bool has_digit = std::ranges::any_of(word, ascii::is_digit);
      out.push_back({term, has_digit && word.size() >= kCodeBytesMin});
    });
  }
  return out;
}

}  // namespace signalbox::word_search
