// One function a section. `truncation` and `padding` are settings of the program that saved the
// file (this one's come with each call), and `decoder` turns ids back into text, which no
// classifier needs: the three are passed over.

#include "tokenizer/hf_json.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokenizer/json_field.h"
#include "tokenizer/pipeline.h"

namespace signalbox::tokenizer {
namespace {

constexpr int64_t kIdMax = (int64_t{1} << 24) - 1;  // 64 times the largest vocabulary in use
constexpr size_t kAddedBytesMax = 1024;             // bounds what one position of a text can cost

// The pieces of the model, looked up by name while the rest of the file is read.
struct Pieces {
  std::vector<Vocabulary::Entry> entries;  // in file order; views into the document
  std::unordered_map<std::string_view, int32_t> ids;
  int32_t end = 0;  // one more than the largest id
};

tl::unexpected<Error> not_built(const Field& at, std::string_view name, std::string_view built) {
  return fail(Code::kUnsupported, "{}: {} is not built (built: {})", at.path(), in_quotes(name),
              built);
}

// The `type` of a component that must be the one that is built.
Result<void> expect_type(const Field& component, std::string_view built) {
  SIGNALBOX_TRY(const Field type, component.member("type"));
  SIGNALBOX_TRY(const std::string_view name, type.string());
  if (name != built) return not_built(type, name, built);
  return {};
}

Result<bool> flag(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const Field field, object.member(key));
  return field.boolean();
}

Result<std::string_view> text(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const Field field, object.member(key));
  return field.string();
}

Result<BertNormalizer> read_normalizer(const Field& root) {
  SIGNALBOX_TRY(const auto normalizer, root.optional_member("normalizer"));
  if (!normalizer) return BertNormalizer();
  SIGNALBOX_TRY_VOID(expect_type(*normalizer, "BertNormalizer"));
  BertNormalizerOptions options;
  SIGNALBOX_TRY(options.clean_text, flag(*normalizer, "clean_text"));
  SIGNALBOX_TRY(options.handle_chinese_chars, flag(*normalizer, "handle_chinese_chars"));
  SIGNALBOX_TRY(options.lowercase, flag(*normalizer, "lowercase"));
  options.strip_accents = options.lowercase;  // what null stands for
  SIGNALBOX_TRY(const auto strip_accents, normalizer->optional_member("strip_accents"));
  if (strip_accents) {
    SIGNALBOX_TRY(options.strip_accents, strip_accents->boolean());
  }
  return BertNormalizer(options);
}

Result<void> check_pretokenizer(const Field& root) {
  SIGNALBOX_TRY(const Field pretokenizer, root.member("pre_tokenizer"));
  if (pretokenizer.value().is_null()) return not_built(pretokenizer, "null", "BertPreTokenizer");
  return expect_type(pretokenizer, "BertPreTokenizer");
}

Result<void> check_unique_ids(const Field& vocab, const Pieces& pieces) {
  auto sorted = pieces.entries;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.id, a.piece) < std::tie(b.id, b.piece);
  });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](const auto& a, const auto& b) { return a.id == b.id; });
  if (twice == sorted.end()) return {};
  return vocab.corrupt("the id {} is given to {} and to {}", twice->id, in_quotes(twice->piece),
                       in_quotes(std::next(twice)->piece));
}

Result<Pieces> read_vocabulary(const Field& vocab) {
  SIGNALBOX_TRY_VOID(vocab.expect(json::Type::kObject));
  Pieces pieces;
  for (const json::Member& member : vocab.value().members()) {
    const auto at = [&] {
      return Field(member.value, fmt::format("{}[{}]", vocab.path(), in_quotes(member.key)));
    };
    const auto id = member.value.integer();
    if (!id || *id < 0 || *id > kIdMax) {
      SIGNALBOX_TRY_VOID(at().integer(0, kIdMax));
    }
    if (member.key.size() > Vocabulary::kPieceBytesMax) {
      return at().corrupt("a piece of {} bytes, expected at most {}", member.key.size(),
                          Vocabulary::kPieceBytesMax);
    }
    const auto number = static_cast<int32_t>(*id);
    if (!pieces.ids.emplace(member.key, number).second) return at().corrupt("there twice");
    pieces.entries.push_back({member.key, number});
    pieces.end = std::max(pieces.end, number + 1);
  }
  SIGNALBOX_TRY_VOID(check_unique_ids(vocab, pieces));
  return pieces;
}

// Files from before 2020-10 have no type; of those, only WordPiece's have a limit for words.
Result<void> check_model_type(const Field& model) {
  SIGNALBOX_TRY_VOID(model.expect(json::Type::kObject));
  if (!model.value().find("type") && model.value().find("max_input_chars_per_word")) return {};
  return expect_type(model, "WordPiece");
}

Result<WordPiece> read_model(const Field& model, const Pieces& pieces) {
  WordPiece::Options options;
  SIGNALBOX_TRY(options.continuing_prefix, text(model, "continuing_subword_prefix"));
  SIGNALBOX_TRY(const Field most, model.member("max_input_chars_per_word"));
  SIGNALBOX_TRY(options.word_code_points_max, most.integer(0, std::numeric_limits<int32_t>::max()));
  SIGNALBOX_TRY(const Field unknown, model.member("unk_token"));
  SIGNALBOX_TRY(const std::string_view unknown_piece, unknown.string());
  const auto found = pieces.ids.find(unknown_piece);
  if (found == pieces.ids.end()) {
    return unknown.corrupt("expected a piece of model.vocab, found {}", in_quotes(unknown_piece));
  }
  options.unknown_id = found->second;
  return WordPiece(pieces.entries, options);
}

// An added token is either a piece of the model under the piece's id, or extends the vocabulary at
// its end. The reference numbers them so and warns when the file says otherwise; two answers to one
// question are refused here.
Result<int32_t> added_id(const Field& token, std::string_view content, Pieces& pieces) {
  SIGNALBOX_TRY(const Field id, token.member("id"));
  SIGNALBOX_TRY(const int64_t number, id.integer(0, kIdMax));
  const auto piece = pieces.ids.find(content);
  const int64_t expected = piece != pieces.ids.end() ? piece->second : pieces.end;
  if (number != expected) {
    return id.corrupt("expected {}, {}, found {}", expected,
                      piece != pieces.ids.end() ? "the id of this piece in model.vocab"
                                                : "the first after the vocabulary",
                      number);
  }
  pieces.end = std::max(pieces.end, static_cast<int32_t>(number) + 1);
  return static_cast<int32_t>(number);
}

Result<AddedToken> read_added_token(const Field& token, Pieces& pieces) {
  AddedToken out;
  SIGNALBOX_TRY(const Field content, token.member("content"));
  SIGNALBOX_TRY(out.content, content.string());
  if (out.content.empty()) return content.corrupt("expected a token, found nothing");
  if (out.content.size() > kAddedBytesMax) {
    return content.corrupt("a token of {} bytes, expected at most {}", out.content.size(),
                           kAddedBytesMax);
  }
  SIGNALBOX_TRY(out.id, added_id(token, out.content, pieces));
  SIGNALBOX_TRY(out.normalized, flag(token, "normalized"));
  SIGNALBOX_TRY(out.lstrip, flag(token, "lstrip"));
  SIGNALBOX_TRY(out.rstrip, flag(token, "rstrip"));
  SIGNALBOX_TRY(out.single_word, flag(token, "single_word"));
  // Said of a token for the sake of decoding; when encoding, a special token is found like any
  // other.
  SIGNALBOX_TRY_VOID(flag(token, "special"));
  return out;
}

struct Added {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
};

Result<Added> read_added_tokens(const Field& root, const BertNormalizer& normalizer,
                                Pieces& pieces) {
  Added added;
  SIGNALBOX_TRY(const auto section, root.optional_member("added_tokens"));
  if (!section) return added;
  SIGNALBOX_TRY(const auto tokens, section->elements());
  std::unordered_map<std::string, std::string> raw_seen, normalized_seen;  // content to path
  Normalized form;
  for (const Field& field : tokens) {
    SIGNALBOX_TRY(AddedToken token, read_added_token(field, pieces));
    if (const auto [other, is_new] = raw_seen.emplace(token.content, field.path()); !is_new) {
      return field.corrupt("{} is {} already", in_quotes(token.content), other->second);
    }
    if (!token.normalized) {
      added.raw.push_back(std::move(token));
      continue;
    }
    form.clear();
    normalizer.normalize(token.content, 0, form);
    if (form.text.empty()) continue;  // never found
    token.content = form.text;
    if (const auto [other, is_new] = normalized_seen.emplace(token.content, field.path());
        !is_new) {
      return field.corrupt("normalised to {}, as {} is", in_quotes(token.content), other->second);
    }
    added.normalized.push_back(std::move(token));
  }
  return added;
}

// `special_tokens` of a template: the ids that each name stands for.
Result<std::vector<int32_t>> special_ids(const Field& processor, const Field& id, int32_t ids_end) {
  SIGNALBOX_TRY(const std::string_view name, id.string());
  SIGNALBOX_TRY(const Field known, processor.member("special_tokens"));
  SIGNALBOX_TRY_VOID(known.expect(json::Type::kObject));
  const auto found = known.value().find(name);
  if (!found) return id.corrupt("{} is not in {}", in_quotes(name), known.path());
  const Field token(*found, fmt::format("{}[{}]", known.path(), in_quotes(name)));
  SIGNALBOX_TRY(const Field ids, token.member("ids"));
  SIGNALBOX_TRY(const auto elements, ids.elements());
  std::vector<int32_t> out;
  for (const Field& element : elements) {
    SIGNALBOX_TRY(const int64_t number, element.integer(0, ids_end - 1));
    out.push_back(static_cast<int32_t>(number));
  }
  return out;
}

Result<void> read_template_piece(const Field& processor, const Field& piece, int32_t ids_end,
                                 Template& out) {
  using Kind = TemplatePiece::Kind;
  SIGNALBOX_TRY(const auto special, piece.optional_member("SpecialToken"));
  SIGNALBOX_TRY(const auto sequence, piece.optional_member("Sequence"));
  if (special.has_value() == sequence.has_value()) {
    return piece.corrupt("expected SpecialToken or Sequence");
  }
  const Field& body = special ? *special : *sequence;
  SIGNALBOX_TRY(const Field id, body.member("id"));
  SIGNALBOX_TRY(const Field type, body.member("type_id"));
  SIGNALBOX_TRY(const int64_t number, type.integer(0, std::numeric_limits<uint8_t>::max()));
  const auto type_id = static_cast<uint8_t>(number);
  if (special) {
    SIGNALBOX_TRY(const auto ids, special_ids(processor, id, ids_end));
    for (const int32_t special_id : ids) out.push_back({Kind::kSpecial, type_id, special_id});
    return {};
  }
  SIGNALBOX_TRY(const std::string_view name, id.string());
  if (name != "A" && name != "B")
    return id.corrupt("expected \"A\" or \"B\", found {}", in_quotes(name));
  out.push_back({name == "A" ? Kind::kFirst : Kind::kSecond, type_id, 0});
  return {};
}

Result<Template> read_template(const Field& processor, std::string_view key, int seconds,
                               int32_t ids_end) {
  SIGNALBOX_TRY(const Field form, processor.member(key));
  SIGNALBOX_TRY(const auto pieces, form.elements());
  Template out;
  for (const Field& piece : pieces) {
    SIGNALBOX_TRY_VOID(read_template_piece(processor, piece, ids_end, out));
  }
  const auto has = [&](TemplatePiece::Kind kind, int times) {
    return std::count_if(out.begin(), out.end(),
                         [&](const auto& piece) { return piece.kind == kind; }) == times;
  };
  if (!has(TemplatePiece::Kind::kFirst, 1) || !has(TemplatePiece::Kind::kSecond, seconds)) {
    return form.corrupt("expected the sequence{}",
                        seconds == 0 ? " A once" : "s A and B once each");
  }
  return out;
}

// BertProcessing's `sep` and `cls` are pairs of a token and its id.
Result<int32_t> read_token_pair(const Field& processor, std::string_view key, int32_t ids_end) {
  SIGNALBOX_TRY(const Field pair, processor.member(key));
  SIGNALBOX_TRY(const auto elements, pair.elements());
  if (elements.size() != 2)
    return pair.corrupt("expected a token and its id, found {} values", elements.size());
  SIGNALBOX_TRY_VOID(elements[0].string());
  SIGNALBOX_TRY(const int64_t id, elements[1].integer(0, ids_end - 1));
  return static_cast<int32_t>(id);
}

Result<Postprocessor> read_postprocessor(const Field& root, int32_t ids_end) {
  using Kind = TemplatePiece::Kind;
  const TemplatePiece first{Kind::kFirst, 0, 0};
  const TemplatePiece second{Kind::kSecond, 1, 0};
  SIGNALBOX_TRY(const auto processor, root.optional_member("post_processor"));
  if (!processor) return Postprocessor({first}, {first, second});
  SIGNALBOX_TRY(const Field type, processor->member("type"));
  SIGNALBOX_TRY(const std::string_view name, type.string());
  if (name == "TemplateProcessing") {
    SIGNALBOX_TRY(Template single, read_template(*processor, "single", 0, ids_end));
    SIGNALBOX_TRY(Template pair, read_template(*processor, "pair", 1, ids_end));
    return Postprocessor(std::move(single), std::move(pair));
  }
  if (name != "BertProcessing") return not_built(type, name, "TemplateProcessing, BertProcessing");
  SIGNALBOX_TRY(const int32_t sep, read_token_pair(*processor, "sep", ids_end));
  SIGNALBOX_TRY(const int32_t cls, read_token_pair(*processor, "cls", ids_end));
  const TemplatePiece begin{Kind::kSpecial, 0, cls};
  const TemplatePiece end_first{Kind::kSpecial, 0, sep};
  const TemplatePiece end_second{Kind::kSpecial, 1, sep};
  return Postprocessor({begin, first, end_first}, {begin, first, end_first, second, end_second});
}

Result<void> check_version(const Field& root) {
  SIGNALBOX_TRY(const auto version, root.optional_member("version"));
  if (!version) return {};
  SIGNALBOX_TRY(const std::string_view name, version->string());
  if (name != "1.0") return not_built(*version, name, "1.0");
  return {};
}

}  // namespace

Result<std::unique_ptr<const Tokenizer>> read_hf_json(std::string json) {
  auto document = json::Document::parse(std::move(json));
  if (!document) return fail(Code::kCorrupt, "{}", document.error().message);
  const Field root(document->root(), "");
  SIGNALBOX_TRY_VOID(check_version(root));
  SIGNALBOX_TRY(const Field model, root.member("model"));
  SIGNALBOX_TRY_VOID(check_model_type(model));
  SIGNALBOX_TRY(BertNormalizer normalizer, read_normalizer(root));
  SIGNALBOX_TRY_VOID(check_pretokenizer(root));
  SIGNALBOX_TRY(const Field vocab, model.member("vocab"));
  SIGNALBOX_TRY(Pieces pieces, read_vocabulary(vocab));
  SIGNALBOX_TRY(WordPiece wordpiece, read_model(model, pieces));
  SIGNALBOX_TRY(Added added, read_added_tokens(root, normalizer, pieces));
  SIGNALBOX_TRY(Postprocessor postprocessor, read_postprocessor(root, pieces.end));
  return std::make_unique<const Pipeline>(Pipeline::Parts{
      AddedTokens(std::move(added.raw)), AddedTokens(std::move(added.normalized)),
      std::move(normalizer), std::move(wordpiece), std::move(postprocessor), pieces.end});
}

}  // namespace signalbox::tokenizer
