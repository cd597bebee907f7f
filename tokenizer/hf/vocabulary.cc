// Reads `model.vocab` if it is an object: WordPiece and BPE.

#include "tokenizer/hf/sections.h"

#include <utility>

namespace signalbox::tokenizer {
namespace {

// Ids are used as indices, so two pieces may not share one.
Result<void> check_unique_ids(const Field& vocab, const Vocabulary& vocabulary) {
  // piece index plus 1; 0: none
  std::vector<uint32_t> piece_of(static_cast<size_t>(vocabulary.ids_end()));
  for (uint32_t i = 0; i < vocabulary.size(); ++i) {
    const Vocabulary::Entry entry = vocabulary.entry(i);
    uint32_t& piece = piece_of[static_cast<size_t>(entry.id)];
    if (piece != 0) {
      return vocab.corrupt("the id {} is given to {} and to {}", entry.id,
                           in_quotes(vocabulary.entry(piece - 1).piece), in_quotes(entry.piece));
    }
    piece = i + 1;
  }
  return {};
}

}  // namespace

Result<Vocabulary> read_vocabulary(const Field& vocab) {
  SIGNALBOX_TRY_VOID(vocab.expect(json::Type::kObject));
  size_t count = 0;
  for (const json::Member& member : vocab.value().members()) count += member.key.empty() ? 0 : 1;
  Vocabulary vocabulary;
  vocabulary.reserve(count);
  for (const json::Member& member : vocab.value().members()) {
    const auto at = [&member, &vocab] {
      return Field(member.value, fmt::format("{}[{}]", vocab.path(), in_quotes(member.key)));
    };
    const auto id = member.value.integer();
    if (!id || *id < 0 || *id > kIdMax) SIGNALBOX_TRY_VOID(at().integer(0, kIdMax));
    if (member.key.size() > Vocabulary::kPieceBytesMax) {
      return at().corrupt("a piece of {} bytes, expected at most {}", member.key.size(),
                          Vocabulary::kPieceBytesMax);
    }
    if (!vocabulary.add(member.key, static_cast<int32_t>(*id)))
      return at().corrupt("appears twice");
  }
  SIGNALBOX_TRY_VOID(check_unique_ids(vocab, vocabulary));
  return vocabulary;
}

}  // namespace signalbox::tokenizer
