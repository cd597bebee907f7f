// `post_processor`.

#include "tokenizer/hf_sections.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace signalbox::tokenizer {
namespace {

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

}  // namespace

Result<Postprocessor> read_postprocessor(const Field& root, int32_t ids_end) {
  using Kind = TemplatePiece::Kind;
  const TemplatePiece first{Kind::kFirst, 0, 0};
  const TemplatePiece second{Kind::kSecond, 1, 0};
  SIGNALBOX_TRY(const auto processor, root.optional_member("post_processor"));
  if (!processor) return Postprocessor({first}, {first, second});
  SIGNALBOX_TRY(const Field type, type_of(*processor));
  const std::string_view name = type.value().text();
  if (name == "TemplateProcessing") {
    SIGNALBOX_TRY(Template single, read_template(*processor, "single", 0, ids_end));
    SIGNALBOX_TRY(Template pair, read_template(*processor, "pair", 1, ids_end));
    return Postprocessor(std::move(single), std::move(pair));
  }
  if (name != "BertProcessing") return not_built(type, "TemplateProcessing, BertProcessing");
  SIGNALBOX_TRY(const int32_t sep, read_token_pair(*processor, "sep", ids_end));
  SIGNALBOX_TRY(const int32_t cls, read_token_pair(*processor, "cls", ids_end));
  const TemplatePiece begin{Kind::kSpecial, 0, cls};
  const TemplatePiece end_first{Kind::kSpecial, 0, sep};
  const TemplatePiece end_second{Kind::kSpecial, 1, sep};
  return Postprocessor({begin, first, end_first}, {begin, first, end_first, second, end_second});
}

}  // namespace signalbox::tokenizer
