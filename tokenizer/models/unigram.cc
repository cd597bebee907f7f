// For each byte the best path stores its last piece; the result is read from the end backwards.

#include "tokenizer/models/unigram.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/models/byte_alphabet.h"
#include "tokenizer/scratch.h"

namespace signalbox::tokenizer {
namespace {

constexpr double kUnknownPenalty = 10;  // subtracted from the lowest score in the vocabulary
constexpr uint32_t kNone = UINT32_MAX;

// Iterates backwards, so that the last of equal pieces is kept.
Vocabulary vocabulary_of(const std::vector<Unigram::Piece>& pieces) {
  Vocabulary vocabulary;
  vocabulary.reserve(pieces.size());
  for (size_t i = pieces.size(); i-- > 0;) {
    vocabulary.add(pieces[i].text, static_cast<int32_t>(i));
  }
  return vocabulary;
}

PieceTrie trie_of(const std::vector<Unigram::Piece>& pieces, const Vocabulary& vocabulary) {
  std::vector<PieceTrie::Piece> found;
  found.reserve(vocabulary.size());
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const Vocabulary::Entry entry = vocabulary.entry(i);
    if (entry.piece.empty()) continue;  // counts for the lowest score but never occurs in a text
    found.push_back({entry.piece, pieces[static_cast<size_t>(entry.id)].score, entry.id});
  }
  return PieceTrie(std::move(found));
}

double lowest_score(const std::vector<Unigram::Piece>& pieces) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Unigram::Piece& piece : pieces) lowest = std::min(lowest, piece.score);
  return lowest;
}

std::vector<int32_t> byte_ids_of(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  for (uint32_t byte = 0; byte < 256; ++byte) ids.push_back(vocabulary.find(fallback_piece(byte)));
  return ids;
}

uint32_t character_bytes(std::string_view text, uint32_t position) {
  return static_cast<unsigned char>(text[position]) < 0x80 ? 1 : utf8::decode(text, position).bytes;
}

}  // namespace

Unigram::Unigram(const std::vector<Piece>& pieces, int32_t unknown_id, bool byte_fallback)
    : vocabulary_(vocabulary_of(pieces)),
      trie_(trie_of(pieces, vocabulary_)),
      unknown_id_(unknown_id),
      unknown_score_(lowest_score(pieces) - kUnknownPenalty),
      owner_(WordCache::next_owner()) {
  SIGNALBOX_CHECK(unknown_id >= 0 && static_cast<size_t>(unknown_id) < pieces.size());
  if (byte_fallback) byte_ids_ = byte_ids_of(vocabulary_);
}

void Unigram::tokenize(std::string_view text, Span word, ModelScratch& scratch,
                       std::vector<Token>& tokens) const {
  const std::string_view bytes = text.substr(word.begin, word.end - word.begin);
  if (bytes.size() > WordCache::kWordBytesMax) {
    return put(bytes, word.begin, scratch.unigram, tokens);
  }
  const WordCache::Place place = scratch.words.place(owner_, bytes);
  if (place.recall(word.begin, tokens)) return;
  const size_t first = tokens.size();
  put(bytes, word.begin, scratch.unigram, tokens);
  // The byte tokens of unknown text share one span, which a cache entry cannot represent.
  for (size_t i = first + 1; i < tokens.size(); ++i) {
    if (tokens[i].span == tokens[i - 1].span) return;
  }
  place.keep(tokens, first);
}

void Unigram::put(std::string_view word, uint32_t begin, UnigramScratch& scratch,
                  std::vector<Token>& tokens) const {
  find_best(word, scratch);
  collect(scratch);
  for (size_t i = scratch.tokens.size(); i-- > 0;) {
    const Token& token = scratch.tokens[i];
    const Span span{begin + token.span.begin, begin + token.span.end};
    if (token.id != unknown_id_) {
      tokens.push_back({token.id, span});
    } else {
      put_unknown(word.substr(token.span.begin, token.span.end - token.span.begin), span, tokens);
    }
  }
}

void Unigram::find_best(std::string_view word, UnigramScratch& scratch) const {
  auto& best = scratch.best;
  best.assign(word.size() + 1, {0, kNone, kNone});
  for (uint32_t begin = 0; begin < word.size();) {
    const double score_here = best[begin].score;
    const uint32_t bytes = character_bytes(word, begin);
    const auto try_path = [&](uint32_t end, double score, uint32_t node) {
      auto& target = best[end];
      if (target.begin == kNone || score > target.score) target = {score, begin, node};
    };
    bool is_piece = false;  // the single character is a piece
    trie_.for_each_prefix(word.substr(begin), [&](uint32_t length, double score, uint32_t node) {
      try_path(begin + length, score + score_here, node);
      is_piece |= length == bytes;
    });
    if (!is_piece) try_path(begin + bytes, unknown_score_ + score_here, kNone);
    begin += bytes;
  }
}

// Collects the tokens of the best path in reverse, with spans in bytes of the word. The unknown
// piece itself is combined with adjacent unknown text.
void Unigram::collect(UnigramScratch& scratch) const {
  auto& tokens = scratch.tokens;
  tokens.clear();
  for (auto end = static_cast<uint32_t>(scratch.best.size() - 1); end > 0;) {
    const UnigramScratch::Best& piece = scratch.best[end];
    const int32_t id = piece.node == kNone ? unknown_id_ : trie_.id(piece.node);
    if (id == unknown_id_ && !tokens.empty() && tokens.back().id == unknown_id_) {
      tokens.back().span.begin = piece.begin;
    } else {
      tokens.push_back({id, {piece.begin, end}});
    }
    end = piece.begin;
  }
}

// Combined unknown text may be a piece after all, if that piece was not on the best path.
void Unigram::put_unknown(std::string_view unknown, Span span, std::vector<Token>& tokens) const {
  const int32_t id = vocabulary_.find(unknown);
  const auto is_piece = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] >= 0; };
  if (id >= 0 || byte_ids_.empty() || !std::all_of(unknown.begin(), unknown.end(), is_piece)) {
    tokens.push_back({id >= 0 ? id : unknown_id_, span});
    return;
  }
  for (const char c : unknown) {
    tokens.push_back({byte_ids_[static_cast<unsigned char>(c)], span});
  }
}

}  // namespace signalbox::tokenizer
