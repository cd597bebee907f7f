// Two tables avoid building "##" + rest for every lookup.

#include "tokenizer/models/wordpiece.h"

#include <utility>

#include "base/utf8.h"

namespace signalbox::tokenizer {
namespace {

Vocabulary tails_of(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<Vocabulary::Entry> tails;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const Vocabulary::Entry entry = vocabulary.entry(i);
    if (entry.piece.starts_with(prefix)) {
      tails.push_back({entry.piece.substr(prefix.size()), entry.id});
    }
  }
  return Vocabulary(tails);
}

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, const Options& options)
    : heads_(std::move(vocabulary)),
      tails_(tails_of(heads_, options.continuing_prefix)),
      unknown_id_(options.unknown_id),
      word_code_points_max_(options.word_code_points_max) {}

void WordPiece::tokenize(std::string_view text, Span word, ModelScratch&,
                         std::vector<Token>& tokens) const {
  const size_t kept = tokens.size();
  uint32_t begin = word.begin;
  if (!is_too_long(text.substr(word.begin, word.end - word.begin))) {
    while (begin < word.end) {
      const Vocabulary& pieces = begin == word.begin ? heads_ : tails_;
      const Vocabulary::Found found = pieces.longest(text.substr(begin, word.end - begin));
      if (found.id < 0) break;
      tokens.push_back({found.id, {begin, begin + found.length}});
      begin += found.length;
    }
  }
  if (begin == word.end) return;
  tokens.resize(kept);
  tokens.push_back({unknown_id_, word});
}

bool WordPiece::is_too_long(std::string_view word) const {
  // A word has at most as many code points as bytes, so most words need no counting.
  const auto limit = static_cast<uint64_t>(word_code_points_max_);
  return word.size() > limit && utf8::count(word) > limit;
}

}  // namespace signalbox::tokenizer
