// Writes section by section, in the order of the file.

#include "tools/vocabulary/sentencepiece_to_hf.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json_writer.h"
#include "tokenizer/normalize/edge_normalizers.h"
#include "tokenizer/normalize/precompiled.h"
#include "tools/vocabulary/sentencepiece_merges.h"

namespace signalbox::tools {
namespace {

using Kind = SentencePieceModel::Kind;
using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

const Piece& piece_of(const SentencePieceModel& model, int32_t id) {
  return model.pieces[static_cast<size_t>(id)];
}

// Strips white space at the ends and collapses runs of spaces into one space mark. With a space in
// front of every text, a single leading space becomes the same mark, so the left end is kept.
void write_space_removal(const SentencePieceModel& model, json::Writer& out) {
  out.begin_object().member("type", "Strip");
  out.member("strip_left", !model.add_dummy_prefix).member("strip_right", true).end_object();
  write_replace("Regex", " {2,}", kSpaceMark, out);
}

void write_normalizer(const SentencePieceModel& model, json::Writer& out) {
  if (model.charsmap.empty() && !model.remove_extra_whitespaces) {
    out.null();
    return;
  }
  out.begin_object().member("type", "Sequence").key("normalizers").begin_array();
  if (!model.charsmap.empty()) {
    out.begin_object().member("type", "Precompiled");
    out.member("precompiled_charsmap", base64::encode(model.charsmap)).end_object();
  }
  if (model.remove_extra_whitespaces) write_space_removal(model, out);
  out.end_array().end_object();
}

// Writes the members that Metaspace has as a pre-tokenizer and as a decoder.
void write_metaspace(const SentencePieceModel& model, json::Writer& out) {
  out.begin_object().member("type", "Metaspace").member("replacement", kSpaceMark);
  out.member("prepend_scheme", model.add_dummy_prefix ? "first" : "never");
  out.member("split", !reaches_across_spaces(model)).end_object();
}

void write_post_processor(const SentencePieceModel& model, const HfMarks& marks,
                          json::Writer& out) {
  out.key("post_processor");
  if (marks.single.empty()) {
    out.null();
    return;
  }
  const auto id_of = [&](std::string_view mark) {
    const int64_t id = model.find(mark);
    SIGNALBOX_CHECK(id >= 0);
    return id;
  };
  write_template_processing(marks, id_of, out);
}

void write_decoder(const SentencePieceModel& model, json::Writer& out) {
  out.key("decoder");
  if (!model.byte_fallback) return write_metaspace(model, out);
  out.begin_object().member("type", "Sequence").key("decoders").begin_array();
  out.begin_object().member("type", "ByteFallback").end_object();
  write_metaspace(model, out);
  out.end_array().end_object();
}

void write_unigram(const SentencePieceModel& model, json::Writer& out) {
  out.member("type", "Unigram").member("unk_id", model.unknown_id).key("vocab").begin_array();
  for (const Piece& piece : model.pieces) {
    out.begin_array().string(piece.text).number(static_cast<double>(piece.score)).end_array();
  }
  out.end_array().member("byte_fallback", model.byte_fallback);
}

Result<void> write_bpe(const SentencePieceModel& model, json::Writer& out) {
  SIGNALBOX_TRY(const std::vector<Merge> merges, merges_of(model));
  out.member("type", "BPE").key("dropout").null();
  out.member("unk_token", piece_of(model, model.unknown_id).text);
  out.key("continuing_subword_prefix").null().key("end_of_word_suffix").null();
  out.member("fuse_unk", true).member("byte_fallback", model.byte_fallback);
  out.member("ignore_merges", false).key("vocab").begin_object();
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    out.member(model.pieces[i].text, static_cast<int64_t>(i));
  }
  out.end_object().key("merges").begin_array();
  for (const Merge& merge : merges) {
    out.begin_array().string(piece_of(model, merge.left).text);
    out.string(piece_of(model, merge.right).text).end_array();
  }
  out.end_array();
  return {};
}

// Writes a section that the caller has made, or calls write().
template <class Write>
void write_section(std::string_view name, const std::string& made, const Write& write,
                   json::Writer& out) {
  out.key(name);
  if (made.empty()) {
    write();
  } else {
    out.raw(made);
  }
}

using Charsmap = std::unique_ptr<const tokenizer::Precompiled>;

// Returns whether the model's normalizer leaves a text as it is.
bool is_normal(std::string_view text, const Charsmap& charsmap) {
  if (!tokenizer::Strip(true, true).keeps(text) || text.find("  ") != std::string_view::npos)
    return false;
  if (charsmap == nullptr) return true;
  tokenizer::Normalized out;
  charsmap->normalize(tokenizer::TextView(text, 0), out);
  return out.text == text;
}

// Returns null for a model without a charsmap, or with one that no reader of the result accepts.
Charsmap charsmap_of(const SentencePieceModel& model) {
  if (model.charsmap.empty()) return nullptr;
  auto parsed = tokenizer::Precompiled::parse(model.charsmap);
  return parsed ? *std::move(parsed) : nullptr;
}

}  // namespace

std::vector<HfAddedToken> added_pieces(const SentencePieceModel& model) {
  std::vector<HfAddedToken> out;
  const Charsmap charsmap = charsmap_of(model);
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    const bool control = piece.type == PieceType::kControl;
    if (!control && piece.type != PieceType::kUserDefined) continue;
    out.push_back({.content = piece.text,
                   .id = static_cast<int64_t>(i),
                   .normalized = !control && model.remove_extra_whitespaces &&
                                 is_normal(piece.text, charsmap),
                   .special = control});
  }
  return out;
}

bool reaches_across_spaces(const SentencePieceModel& model) {
  return std::ranges::any_of(model.pieces, [](const Piece& piece) {
    return piece.type == PieceType::kNormal && piece.text.find(kSpaceMark, 1) != std::string::npos;
  });
}

Result<HfMarks> sentencepiece_marks(const SentencePieceModel& model, bool begin, bool end) {
  if (begin && model.begin_id < 0) {
    return fail(Code::kInvalid, "--bos: the model has no beginning-of-text piece");
  }
  if (end && model.end_id < 0) {
    return fail(Code::kInvalid, "--eos: the model has no end-of-text piece");
  }
  if (!begin && !end) return HfMarks{};
  return HfMarks::of_decoder(begin ? piece_of(model, model.begin_id).text : "",
                             end ? piece_of(model, model.end_id).text : "");
}

Result<std::string> sentencepiece_to_hf(const SentencePieceModel& model,
                                        const SentencePieceToHfOptions& options) {
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  write_added_tokens(options.added_tokens ? *options.added_tokens : added_pieces(model), out);
  write_section(
      "normalizer", options.normalizer, [&] { write_normalizer(model, out); }, out);
  write_section(
      "pre_tokenizer", options.pre_tokenizer, [&] { write_metaspace(model, out); }, out);
  write_post_processor(model, options.marks, out);
  write_decoder(model, out);
  out.key("model").begin_object();
  if (model.kind == Kind::kUnigram) {
    write_unigram(model, out);
  } else {
    SIGNALBOX_TRY_VOID(write_bpe(model, out));
  }
  out.end_object().end_object();
  return out.take();
}

}  // namespace signalbox::tools
