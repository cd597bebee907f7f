// Writes section by section, in the order of the file.

#include "tools/sentencepiece_to_hf.h"

#include <algorithm>
#include <initializer_list>

#include "base/base64.h"
#include "base/json_writer.h"
#include "tools/sentencepiece_merges.h"

namespace signalbox::tools {
namespace {

using Kind = SentencePieceModel::Kind;
using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

constexpr std::string_view kSpace = "\u2581";  // stands for a space in pieces

const Piece& piece_of(const SentencePieceModel& model, int32_t id) {
  return model.pieces[static_cast<size_t>(id)];
}

void write_added_tokens(const SentencePieceModel& model, json::Writer& out) {
  out.key("added_tokens").begin_array();
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    const bool control = piece.type == PieceType::kControl;
    if (!control && piece.type != PieceType::kUserDefined) continue;
    out.begin_object().member("id", static_cast<int64_t>(i)).member("content", piece.text);
    out.member("single_word", false).member("lstrip", false).member("rstrip", false);
    out.member("normalized", false).member("special", control).end_object();
  }
  out.end_array();
}

// Strips white space at the ends and collapses runs of spaces into one space mark. With a space in
// front of every text, a single leading space becomes the same mark, so the left end is kept.
void write_space_removal(const SentencePieceModel& model, json::Writer& out) {
  out.begin_object().member("type", "Strip");
  out.member("strip_left", !model.add_dummy_prefix).member("strip_right", true).end_object();
  out.begin_object().member("type", "Replace");
  out.key("pattern").begin_object().member("Regex", " {2,}").end_object();
  out.member("content", kSpace).end_object();
}

void write_normalizer(const SentencePieceModel& model, json::Writer& out) {
  out.key("normalizer");
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

// Returns whether a piece contains a space mark anywhere but at its beginning.
bool reaches_across_spaces(const Piece& piece) {
  return piece.type == PieceType::kNormal && piece.text.find(kSpace, 1) != std::string::npos;
}

// Writes the members that Metaspace has as a pre-tokenizer and as a decoder.
void write_metaspace(const SentencePieceModel& model, json::Writer& out) {
  const bool across = std::any_of(model.pieces.begin(), model.pieces.end(), reaches_across_spaces);
  out.begin_object().member("type", "Metaspace").member("replacement", kSpace);
  out.member("prepend_scheme", model.add_dummy_prefix ? "first" : "never");
  out.member("split", !across).end_object();
}

void write_special(const Piece& piece, int type_id, json::Writer& out) {
  out.begin_object().key("SpecialToken").begin_object();
  out.member("id", piece.text).member("type_id", type_id).end_object().end_object();
}

void write_template(const SentencePieceModel& model, const SentencePieceToHfOptions& options,
                    std::initializer_list<std::string_view> sequences, json::Writer& out) {
  out.begin_array();
  int type_id = 0;
  for (const std::string_view sequence : sequences) {
    if (options.begin && (type_id == 0 || options.begin_second))
      write_special(piece_of(model, model.begin_id), type_id, out);
    out.begin_object().key("Sequence").begin_object();
    out.member("id", sequence).member("type_id", type_id).end_object().end_object();
    if (options.end) write_special(piece_of(model, model.end_id), type_id, out);
    ++type_id;
  }
  out.end_array();
}

void write_post_processor(const SentencePieceModel& model, const SentencePieceToHfOptions& options,
                          json::Writer& out) {
  out.key("post_processor");
  if (!options.begin && !options.end) {
    out.null();
    return;
  }
  out.begin_object().member("type", "TemplateProcessing").key("single");
  write_template(model, options, {"A"}, out);
  out.key("pair");
  write_template(model, options, {"A", "B"}, out);
  out.key("special_tokens").begin_object();
  for (const int32_t id : {options.begin ? model.begin_id : -1, options.end ? model.end_id : -1}) {
    if (id < 0) continue;
    const std::string& text = piece_of(model, id).text;
    out.key(text).begin_object().member("id", text);
    out.key("ids").begin_array().integer(id).end_array();
    out.key("tokens").begin_array().string(text).end_array().end_object();
  }
  out.end_object().end_object();
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

void write_bpe(const SentencePieceModel& model, json::Writer& out) {
  out.member("type", "BPE").key("dropout").null();
  out.member("unk_token", piece_of(model, model.unknown_id).text);
  out.key("continuing_subword_prefix").null().key("end_of_word_suffix").null();
  out.member("fuse_unk", true).member("byte_fallback", model.byte_fallback);
  out.member("ignore_merges", false).key("vocab").begin_object();
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    out.member(model.pieces[i].text, static_cast<int64_t>(i));
  }
  out.end_object().key("merges").begin_array();
  for (const Merge& merge : merges_of(model)) {
    out.begin_array().string(piece_of(model, merge.left).text);
    out.string(piece_of(model, merge.right).text).end_array();
  }
  out.end_array();
}

Result<void> check(const SentencePieceModel& model, const SentencePieceToHfOptions& options) {
  if (options.begin && model.begin_id < 0) {
    return fail(Code::kInvalid, "--bos: the model has no beginning-of-text piece");
  }
  if (options.end && model.end_id < 0) {
    return fail(Code::kInvalid, "--eos: the model has no end-of-text piece");
  }
  return {};
}

}  // namespace

Result<std::string> sentencepiece_to_hf(const SentencePieceModel& model,
                                        const SentencePieceToHfOptions& options) {
  SIGNALBOX_TRY_VOID(check(model, options));
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  write_added_tokens(model, out);
  write_normalizer(model, out);
  out.key("pre_tokenizer");
  write_metaspace(model, out);
  write_post_processor(model, options, out);
  write_decoder(model, out);
  out.key("model").begin_object();
  if (model.kind == Kind::kUnigram) {
    write_unigram(model, out);
  } else {
    write_bpe(model, out);
  }
  out.end_object().end_object();
  return out.take();
}

}  // namespace signalbox::tools
