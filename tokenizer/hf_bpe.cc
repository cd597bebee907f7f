// `model` of type BPE.

#include "tokenizer/hf_sections.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizer/bpe.h"
#include "tokenizer/byte_alphabet.h"

namespace signalbox::tokenizer {
namespace {

// A member that may be missing or null, which then is false or empty.
Result<bool> optional_flag(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const auto field, object.optional_member(key));
  if (!field) return false;
  return field->boolean();
}

Result<std::string> optional_text(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const auto field, object.optional_member(key));
  if (!field) return std::string();
  SIGNALBOX_TRY(const std::string_view value, field->string());
  return std::string(value);
}

bool is_fallback(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
}

char32_t last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return utf8::decode(text, begin).code_point;
}

// Fills the merges and the junctions, one merge at a time.
class MergeReader {
 public:
  MergeReader(const Vocabulary& vocabulary, const Bpe::Options& options)
      : vocabulary_(vocabulary), options_(options) {}

  // Either "left right" or ["left", "right"].
  Result<void> read(const Field& merges) {
    SIGNALBOX_TRY_VOID(merges.expect(json::Type::kArray));
    size_t count = 0;
    for (const json::Value merge : merges.value().items()) count += merge.is_null() ? 0 : 1;
    merges_.reserve(count);
    uint32_t rank = 0;
    for (const json::Value merge : merges.value().items()) {
      std::string_view left, right;
      const bool whole =
          merge.is_string() ? cut(merge.text(), left, right) : pair(merge, left, right);
      if (!whole || !add(left, right, rank)) return refuse(merges, merge, rank, left, right);
      ++rank;
    }
    return {};
  }

  Merges merges_;
  Junctions junctions_;
  bool fallback_merges_ = false;

 private:
  static bool cut(std::string_view merge, std::string_view& left, std::string_view& right) {
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
      return false;
    }
    left = merge.substr(0, space);
    right = merge.substr(space + 1);
    return true;
  }

  static bool pair(const json::Value& merge, std::string_view& left, std::string_view& right) {
    size_t count = 0;
    for (const json::Value part : merge.items()) {
      if (!part.is_string() || count == 2) return false;
      (count++ == 0 ? left : right) = part.text();
    }
    return count == 2;
  }

  // False when one of the three pieces is not there.
  bool add(std::string_view left, std::string_view right, uint32_t rank) {
    const int32_t left_id = vocabulary_.find(left);
    const int32_t right_id = vocabulary_.find(right);
    const size_t prefix = options_.continuing_prefix.size();
    if (left_id < 0 || right_id < 0 || right.size() < prefix) return false;
    joined_.assign(left).append(right.substr(prefix));
    const int32_t id = vocabulary_.find(joined_);
    if (id < 0) return false;
    merges_.set(left_id, right_id, {rank, id});
    fallback_merges_ |= options_.byte_fallback && (is_fallback(left) || is_fallback(right));
    if (!left.empty() && !right.empty())
      add_junction(last_character(left), utf8::decode(right, 0).code_point);
    return true;
  }

  void add_junction(char32_t left, char32_t right) {
    if (!options_.byte_level) return junctions_.add(left, right);
    // A piece that is not written in the alphabet of bytes is never met.
    const int32_t left_byte = byte_of(left);
    const int32_t right_byte = byte_of(right);
    if (left_byte < 0 || right_byte < 0) return;
    junctions_.add(static_cast<char32_t>(left_byte), static_cast<char32_t>(right_byte));
  }

  static tl::unexpected<Error> refuse(const Field& merges, const json::Value& merge, uint32_t rank,
                                      std::string_view left, std::string_view right) {
    const Field at(merge, fmt::format("{}[{}]", merges.path(), rank));
    if (left.data() == nullptr || right.data() == nullptr) {
      return at.corrupt("expected two pieces, found {}", in_quotes(merge.raw()));
    }
    return at.corrupt("{}, {} or what they become is not a piece of model.vocab", in_quotes(left),
                      in_quotes(right));
  }

  const Vocabulary& vocabulary_;
  const Bpe::Options& options_;
  std::string joined_;
};

Result<void> refuse_dropout(const Field& model) {
  SIGNALBOX_TRY(const auto dropout, model.optional_member("dropout"));
  if (!dropout) return {};
  const auto number = dropout->value().number();
  if (number && *number == 0) return {};
  return not_built(*dropout, "none: dropout makes ids random");
}

bool has_all_bytes(const Vocabulary& vocabulary, bool byte_level) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string piece;
    utf8::append(piece, kByteAlphabet[byte]);
    if (vocabulary.find(byte_level ? piece : fmt::format("<0x{:02X}>", byte)) < 0) return false;
  }
  return true;
}

// Settings whose meaning in the reference rests on accidents, and that no published file combines.
Result<void> refuse_combinations(const Field& model, const Bpe::Options& options, bool all_bytes) {
  if (!options.byte_fallback || (options.byte_level && all_bytes)) return {};
  if (options.byte_level) {
    return fail(Code::kUnsupported,
                "{}.byte_fallback: not built with ByteLevel unless every byte is a piece",
                model.path());
  }
  if (!options.continuing_prefix.empty() || !options.end_suffix.empty()) {
    return fail(Code::kUnsupported,
                "{}.byte_fallback: not built with continuing_subword_prefix or end_of_word_suffix",
                model.path());
  }
  return {};
}

Result<Bpe::Options> read_options(const Field& model, const Vocabulary& vocabulary,
                                  bool byte_level) {
  Bpe::Options options;
  options.byte_level = byte_level;
  SIGNALBOX_TRY_VOID(refuse_dropout(model));
  SIGNALBOX_TRY(options.byte_fallback, optional_flag(model, "byte_fallback"));
  SIGNALBOX_TRY(options.fuse_unknown, optional_flag(model, "fuse_unk"));
  SIGNALBOX_TRY(options.ignore_merges, optional_flag(model, "ignore_merges"));
  SIGNALBOX_TRY(options.continuing_prefix, optional_text(model, "continuing_subword_prefix"));
  SIGNALBOX_TRY(options.end_suffix, optional_text(model, "end_of_word_suffix"));
  const bool all_bytes = has_all_bytes(vocabulary, byte_level);
  SIGNALBOX_TRY_VOID(refuse_combinations(model, options, all_bytes));
  SIGNALBOX_TRY(const auto unknown, model.optional_member("unk_token"));
  if (!unknown) return options;
  const auto id = id_of_piece(*unknown, vocabulary);
  // Where nothing can be unknown, files name tokens that are no pieces.
  const bool needed = !all_bytes || !(byte_level || options.byte_fallback);
  if (!id && needed) return tl::unexpected(id.error());
  options.unknown_id = id ? *id : -1;
  return options;
}

}  // namespace

Result<LoadedModel> read_bpe(const Field& model, bool byte_level) {
  SIGNALBOX_TRY(const Field vocab, model.member("vocab"));
  SIGNALBOX_TRY(Vocabulary vocabulary, read_vocabulary(vocab));
  SIGNALBOX_TRY(Bpe::Options options, read_options(model, vocabulary, byte_level));
  SIGNALBOX_TRY(const Field merges, model.member("merges"));
  MergeReader reader(vocabulary, options);
  SIGNALBOX_TRY_VOID(reader.read(merges));
  options.fallback_merges = reader.fallback_merges_;
  auto bpe = std::make_unique<const Bpe>(std::move(vocabulary), std::move(reader.merges_),
                                         std::move(reader.junctions_), std::move(options));
  const Vocabulary* pieces = &bpe->vocabulary();
  return LoadedModel{std::move(bpe), pieces};
}

}  // namespace signalbox::tokenizer
