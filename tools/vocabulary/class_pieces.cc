// First gives the pieces the ids of their class, then writes the sections around them. The
// library's older converters split words with WhitespaceSplit, and its newer ones collapse spaces.
// Both give the same ids. We write the older form, because published files have it and because its
// offsets exclude the space in front of a word. We do not follow two choices of the newer
// converters, because they would change ids: here user-defined pieces stay pieces, and ALBERT
// ignores spaces at the end, as its published file and sentencepiece do.

#include "tools/vocabulary/class_pieces.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"
#include "tools/vocabulary/added_pieces.h"
#include "tools/vocabulary/sentencepiece_model.h"
#include "tools/vocabulary/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

using Kind = VocabularyKind;
using Model = SentencePieceModel;
using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

constexpr int32_t kExtraIdsMax = 1000;
constexpr float kNeverChosen = -100;  // the library adds this to the scores of pieces to avoid

// The tokens that a class has by itself, as far as its vocabulary contains them. DeBERTa's mask is
// added to a vocabulary without it.
struct Special {
  std::string_view begin, end, unknown, padding, mask;
  bool mask_takes_space;
};
constexpr Special kFairseq{"<s>", "</s>", "<unk>", "<pad>", "<mask>", true};
constexpr Special kAlbert{"[CLS]", "[SEP]", "<unk>", "<pad>", "[MASK]", true};
constexpr Special kDeberta{"[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]", false};
constexpr Special kT5{"", "</s>", "<unk>", "<pad>", "", false};
constexpr Special kLlama{"<s>", "</s>", "<unk>", "", "", false};
constexpr Special kGemma{"<bos>", "<eos>", "<unk>", "<pad>", "", false};

const Special& special_of(Kind kind) {
  switch (kind) {
    case Kind::kAlbert:
      return kAlbert;
    case Kind::kDeberta:
      return kDeberta;
    case Kind::kT5:
      return kT5;
    case Kind::kLlama:
      return kLlama;
    case Kind::kGemma:
      return kGemma;
    default:
      return kFairseq;
  }
}

Piece control(std::string_view text, float score = 0) {
  return {std::string(text), score, PieceType::kControl};
}

tl::unexpected<Error> fail_for_own(std::string_view piece) {
  return fail(Code::kCorrupt, "the model has a piece {} of its own", json::quote_briefly(piece));
}

Result<void> append(Model& model, Piece piece) {
  if (model.find(piece.text) >= 0) return fail_for_own(piece.text);
  model.pieces.push_back(std::move(piece));
  return {};
}

// Replaces the first pieces, which must be those of `expected`. The networks were trained with
// fairseq, which gives these pieces other ids than sentencepiece.
Result<void> replace_front(Model& model, std::span<const std::string_view> expected,
                           std::vector<Piece> front) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < model.pieces.size() && model.pieces[i].text == expected[i]) continue;
    return fail(Code::kCorrupt, "pieces[{}]: expected \"{}\", found {}", i, expected[i],
                i < model.pieces.size() ? json::quote_briefly(model.pieces[i].text) : "none");
  }
  model.pieces.erase(model.pieces.begin(),
                     model.pieces.begin() + static_cast<std::ptrdiff_t>(expected.size()));
  for (const Piece& piece : front) {
    if (model.find(piece.text) >= 0) return fail_for_own(piece.text);
  }
  model.pieces.insert(model.pieces.begin(), std::move_iterator(front.begin()),
                      std::move_iterator(front.end()));
  model.unknown_id = static_cast<int32_t>(model.find(kFairseq.unknown));
  return {};
}

Result<void> arrange_xlm_roberta(Model& model) {
  constexpr std::string_view kExpected[] = {"<unk>", "<s>", "</s>"};
  SIGNALBOX_TRY_VOID(replace_front(
      model, kExpected,
      {control("<s>"), control("<pad>"), control("</s>"), {"<unk>", 0, PieceType::kUnknown}}));
  return append(model, control("<mask>"));
}

Result<void> arrange_camembert(Model& model) {
  constexpr std::string_view kExpected[] = {"<unk>"};
  SIGNALBOX_TRY_VOID(replace_front(model, kExpected,
                                   {control("<s>NOTUSED"),
                                    control("<pad>"),
                                    control("</s>NOTUSED"),
                                    {"<unk>", 0, PieceType::kUnknown},
                                    control("<unk>NOTUSED", kNeverChosen)}));
  return append(model, control("<mask>"));
}

bool is_digit(char32_t c) {
  return tokenizer::unicode::category(c) == tokenizer::unicode::Category::kNd;
}

// Returns whether a piece ends in a digit and a comma. ALBERT splits these two, as BERT does.
bool ends_in_number_and_comma(const std::string& text) {
  if (!text.ends_with(',')) return false;
  size_t at = text.size() - 1;
  if (at == 0) return false;
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return is_digit(utf8::decode(text, at).code_point);
}

void arrange_albert(Model& model) {
  for (Piece& piece : model.pieces) {
    if (ends_in_number_and_comma(piece.text)) piece.score += kNeverChosen;
  }
}

// Adds <extra_id_N> for N from count - 1 to 0, which no sentencepiece model contains.
Result<void> arrange_t5(Model& model, int32_t count) {
  constexpr std::string_view kExtra = "<extra_id_";
  const auto own = std::ranges::find_if(
      model.pieces, [&](const Piece& piece) { return piece.text.starts_with(kExtra); });
  if (own != model.pieces.end() && count > 0) return fail_for_own(own->text);
  for (int32_t i = count - 1; i >= 0; --i)
    model.pieces.push_back(control(fmt::format("{}{}>", kExtra, i)));
  return {};
}

// Makes the tab's byte a piece for the tab if there is none, because longer pieces are made of
// tabs.
void arrange_gemma(Model& model) {
  const int64_t byte = model.find("<0x09>");
  if (byte < 0 || model.find("\t") >= 0) return;
  Piece& tab = model.pieces[static_cast<size_t>(byte)];
  tab.text = "\t";
  tab.type = PieceType::kNormal;
}

// Gives the pieces that users defined the score with which sentencepiece prefers them to any other
// split of the same characters.
void score_defined_pieces(Model& model) {
  if (model.kind != Model::Kind::kUnigram) return;
  float most = std::numeric_limits<float>::lowest();
  for (const Piece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) most = std::max(most, piece.score);
  }
  for (Piece& piece : model.pieces) {
    if (piece.type != PieceType::kUserDefined) continue;
    piece.type = PieceType::kNormal;
    if (most == std::numeric_limits<float>::lowest()) continue;
    piece.score = static_cast<float>(utf8::count(piece.text)) * most - 0.1F;
  }
}

// Returns whether the class is of a decoder. Its added tokens include the pieces that users
// defined.
bool is_decoder(Kind kind) {
  return kind == Kind::kLlama || kind == Kind::kGemma;
}

Result<void> arrange(Kind kind, int32_t extra_ids, Model& model) {
  if (!is_decoder(kind)) score_defined_pieces(model);
  switch (kind) {
    case Kind::kXlmRoberta:
      return arrange_xlm_roberta(model);
    case Kind::kCamembert:
      return arrange_camembert(model);
    case Kind::kT5:
      return arrange_t5(model, extra_ids);
    case Kind::kAlbert:
      arrange_albert(model);
      return {};
    case Kind::kGemma:
      arrange_gemma(model);
      return {};
    default:
      return {};
  }
}

// `has_own_normalizer`: the class has a normalizer. It may change more than the model's, so all
// tokens are found before it runs.
Result<std::vector<HfAddedToken>> tokens_of(Kind kind, const tokenizer::Settings& settings,
                                            const Model& model, bool has_own_normalizer) {
  KnownPieces pieces;
  for (const Piece& piece : model.pieces) pieces.ids.emplace(piece.text, pieces.size++);
  std::vector<HfAddedToken> known = added_pieces(model);
  if (has_own_normalizer) {
    for (HfAddedToken& token : known) token.normalized = false;
  }
  const Special& special = special_of(kind);
  for (const std::string_view text :
       {special.begin, special.end, special.unknown, special.padding, special.mask}) {
    const bool is_added = kind == Kind::kDeberta && text == special.mask;
    if (text.empty() || (!is_added && !pieces.ids.contains(text))) continue;
    const auto same = std::ranges::find(known, text, &HfAddedToken::content);
    HfAddedToken& token = same != known.end()
                              ? *same
                              : known.emplace_back(HfAddedToken{.content = std::string(text)});
    token.lstrip = text == special.mask && special.mask_takes_space;
  }
  return join_added_tokens(known, settings, pieces);
}

// Returns the mark that the settings or the class name for a role.
Result<std::string> mark_of(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                            std::string_view role, std::string_view otherwise, const Model& model) {
  std::string mark = settings.token_for(role, otherwise);
  if (model.find(mark) >= 0) return mark;
  return fail(Code::kCorrupt, "lacks {}, which {} requires", json::quote_briefly(mark),
              tokenizer.name);
}

Result<HfMarks> decoder_marks_of(const VocabularyClass& tokenizer,
                                 const tokenizer::Settings& settings, const Model& model) {
  const Special& special = special_of(tokenizer.kind);
  const bool begins = settings.adds_bos.value_or(true);
  const bool ends = settings.adds_eos.value_or(false);
  std::string begin, end;
  if (begins) {
    SIGNALBOX_TRY(begin, mark_of(tokenizer, settings, "bos_token", special.begin, model));
  }
  if (ends) {
    SIGNALBOX_TRY(end, mark_of(tokenizer, settings, "eos_token", special.end, model));
  }
  return begins || ends ? HfMarks::of_decoder(begin, end) : HfMarks{};
}

Result<HfMarks> marks_of(const VocabularyClass& tokenizer, const tokenizer::Settings& settings,
                         const Model& model) {
  if (is_decoder(tokenizer.kind)) return decoder_marks_of(tokenizer, settings, model);
  const Special& special = special_of(tokenizer.kind);
  if (tokenizer.kind == Kind::kT5) {
    SIGNALBOX_TRY(const std::string end,
                  mark_of(tokenizer, settings, "eos_token", special.end, model));
    return HfMarks{.single = {{""}, {end}}, .pair = {{""}, {end}, {""}, {end}}};
  }
  SIGNALBOX_TRY(const std::string begin,
                mark_of(tokenizer, settings, "cls_token", special.begin, model));
  SIGNALBOX_TRY(const std::string end,
                mark_of(tokenizer, settings, "sep_token", special.end, model));
  const bool is_fairseq = tokenizer.kind == Kind::kXlmRoberta || tokenizer.kind == Kind::kCamembert;
  return is_fairseq ? HfMarks::of_roberta(begin, end) : HfMarks::of_bert(begin, end);
}

void write_charsmap(const Model& model, json::Writer& out) {
  if (model.charsmap.empty()) return;
  out.begin_object().member("type", "Precompiled");
  out.member("precompiled_charsmap", base64::encode(model.charsmap)).end_object();
}

void write_marked_words(json::Writer& out) {
  out.begin_object().member("type", "Metaspace").member("replacement", kSpaceMark);
  out.member("prepend_scheme", "always").member("split", true).end_object();
}

std::string sequence(std::string_view key, const std::function<void(json::Writer&)>& write) {
  json::Writer out;
  out.begin_object().member("type", "Sequence").key(key).begin_array();
  write(out);
  return out.end_array().end_object().take();
}

std::string pre_tokenizers(std::string_view before) {
  return sequence("pretokenizers", [&](json::Writer& out) {
    if (before == "Punctuation") {
      out.begin_object().member("type", before).member("behavior", "Isolated").end_object();
    } else if (!before.empty()) {
      write_component(before, out);
    }
    write_marked_words(out);
  });
}

void write_albert(const tokenizer::Settings& settings, const Model& model,
                  SentencePieceToHfOptions& options) {
  const bool remove_space = settings.remove_space.value_or(true);
  options.normalizer = sequence("normalizers", [&](json::Writer& out) {
    for (const char* quotes : {"``", "''"}) write_replace("String", quotes, "\"", out);
    if (!settings.keep_accents.value_or(false)) {
      write_component("NFKD", out);
      write_component("StripAccents", out);
    }
    if (settings.lowercase.value_or(true)) write_component("Lowercase", out);
    write_charsmap(model, out);
    if (!remove_space) write_replace("Regex", " {2,}", " ", out);
  });
  options.pre_tokenizer = pre_tokenizers(remove_space ? "WhitespaceSplit" : "");
}

void write_deberta(const tokenizer::Settings& settings, const Model& model,
                   SentencePieceToHfOptions& options) {
  const bool punctuation = settings.split_by_punct.value_or(false);
  options.normalizer = sequence("normalizers", [&](json::Writer& out) {
    if (settings.lowercase.value_or(false)) write_component("Lowercase", out);
    out.begin_object().member("type", "Strip");
    out.member("strip_left", true).member("strip_right", true).end_object();
    write_charsmap(model, out);
    write_replace("Regex", " {2,}", " ", out);
  });
  options.pre_tokenizer = pre_tokenizers(punctuation ? "Punctuation" : "");
}

// For XLM-R, CamemBERT and T5. Follows sentencepiece for models that keep spaces, join words or
// have no mark in front of a text, and for a T5 whose settings are not legacy.
void write_words(Kind kind, bool is_legacy, const Model& model, SentencePieceToHfOptions& options) {
  if ((kind == Kind::kT5 && !is_legacy) || !model.remove_extra_whitespaces ||
      !model.add_dummy_prefix || reaches_across_spaces(model)) {
    return;
  }
  options.normalizer =
      sequence("normalizers", [&](json::Writer& out) { write_charsmap(model, out); });
  options.pre_tokenizer = pre_tokenizers("WhitespaceSplit");
}

bool changes_no_text(const Model& model) {
  return model.charsmap.empty() && !model.remove_extra_whitespaces;
}

// Llama's published files put the space mark in front of every part between added tokens. Follows
// sentencepiece for newer settings and for models that change the text.
void write_llama(bool is_legacy, const Model& model, SentencePieceToHfOptions& options) {
  if (!is_legacy || !changes_no_text(model)) return;
  options.normalizer = sequence("normalizers", [&](json::Writer& out) {
    if (model.add_dummy_prefix)
      out.begin_object().member("type", "Prepend").member("prepend", kSpaceMark).end_object();
    write_replace("String", " ", kSpaceMark, out);
  });
  options.pre_tokenizer = "null";
}

// Gemma puts nothing in front of a text. Follows sentencepiece for models with other settings.
void write_gemma(const Model& model, SentencePieceToHfOptions& options) {
  if (!changes_no_text(model) || model.add_dummy_prefix) return;
  json::Writer out;
  write_replace("String", " ", kSpaceMark, out);
  options.normalizer = out.take();
  options.pre_tokenizer = "null";
}

void write_sections(Kind kind, const tokenizer::Settings& settings, const Model& model,
                    SentencePieceToHfOptions& options) {
  const bool is_legacy = settings.legacy.value_or(true);
  if (kind == Kind::kAlbert) return write_albert(settings, model, options);
  if (kind == Kind::kDeberta) return write_deberta(settings, model, options);
  if (kind == Kind::kLlama) return write_llama(is_legacy, model, options);
  if (kind == Kind::kGemma) return write_gemma(model, options);
  write_words(kind, is_legacy, model, options);
}

}  // namespace

Result<std::string> class_tokenizer(const VocabularyClass& tokenizer, std::string_view bytes,
                                    const tokenizer::Settings& settings) {
  const auto in_file = [&](Error error) { return fail_in(tokenizer.files[0], std::move(error)); };
  const int32_t extra_ids = tokenizer.kind == Kind::kT5 ? settings.extra_ids.value_or(100) : 0;
  if (extra_ids > kExtraIdsMax) {
    return fail(Code::kCorrupt, "{}: extra_ids: expected an integer from 0 to {}, found {}",
                kTokenizerConfigFile, kExtraIdsMax, extra_ids);
  }
  auto model = Model::parse(bytes);
  if (!model) return in_file(std::move(model).error());
  if (tokenizer.kind == Kind::kLlama) {
    model->add_dummy_prefix = settings.add_prefix_space.value_or(model->add_dummy_prefix);
  }
  if (auto done = arrange(tokenizer.kind, extra_ids, *model); !done)
    return in_file(std::move(done).error());
  auto marks = marks_of(tokenizer, settings, *model);
  if (!marks) return in_file(std::move(marks).error());
  SentencePieceToHfOptions options{.marks = *std::move(marks)};
  write_sections(tokenizer.kind, settings, *model, options);
  SIGNALBOX_TRY(options.added_tokens,
                tokens_of(tokenizer.kind, settings, *model, !options.normalizer.empty()));
  auto made = sentencepiece_to_hf(*model, options);
  if (!made) return in_file(std::move(made).error());
  return made;
}

}  // namespace signalbox::tools
