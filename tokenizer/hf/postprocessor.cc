// Reads `post_processor`.

#include "tokenizer/hf/sections.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace signalbox::tokenizer {
namespace {

using PieceKind = TemplatePiece::Kind;

constexpr size_t kTemplateTokensMax = 64;

// Looks up a name in the `special_tokens` of a template and returns its ids.
Result<std::vector<int32_t>> special_ids(const Field& processor, const Field& id, int32_t ids_end) {
  SIGNALBOX_TRY(const std::string_view name, id.string());
  SIGNALBOX_TRY(const Field known, processor.member("special_tokens"));
  SIGNALBOX_TRY_VOID(known.expect(json::Type::kObject));
  const auto found = known.value().find(name);
  if (!found) return id.corrupt("{} is not in {}", in_quotes(name), known.path());
  const Field token(*found, fmt::format("{}[{}]", known.path(), in_quotes(name)));
  SIGNALBOX_TRY(const Field ids, token.member("ids"));
  SIGNALBOX_TRY(const auto elements, ids.elements());
  if (elements.size() > kTemplateTokensMax) {
    return ids.corrupt("{} ids, expected at most {}", elements.size(), kTemplateTokensMax);
  }
  std::vector<int32_t> out;
  for (const Field& element : elements) {
    SIGNALBOX_TRY(const int64_t number, element.integer(0, ids_end - 1));
    out.push_back(static_cast<int32_t>(number));
  }
  return out;
}

Result<void> read_template_piece(const Field& processor, const Field& piece, int32_t ids_end,
                                 Template& out) {
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
    for (const int32_t special_id : ids)
      out.push_back({PieceKind::kSpecial, type_id, special_id, 0});
    return {};
  }
  SIGNALBOX_TRY(const std::string_view name, id.string());
  if (name != "A" && name != "B")
    return id.corrupt("expected \"A\" or \"B\", found {}", in_quotes(name));
  const bool is_first = name == "A";
  // In windows after the first, the reference ignores the template's type.
  const uint8_t later_type_id = is_first ? 0 : 1;
  out.push_back({is_first ? PieceKind::kFirst : PieceKind::kSecond, type_id, 0, later_type_id});
  return {};
}

Result<Template> read_template(const Field& processor, std::string_view key, int seconds,
                               int32_t ids_end) {
  SIGNALBOX_TRY(const Field form, processor.member(key));
  SIGNALBOX_TRY(const auto pieces, form.elements());
  Template out;
  for (const Field& piece : pieces) {
    SIGNALBOX_TRY_VOID(read_template_piece(processor, piece, ids_end, out));
    if (out.size() > kTemplateTokensMax) {
      return form.corrupt("over {} tokens around a text", kTemplateTokensMax);
    }
  }
  const auto has = [&](PieceKind kind, int times) {
    return std::count_if(out.begin(), out.end(),
                         [&](const auto& piece) { return piece.kind == kind; }) == times;
  };
  if (!has(PieceKind::kFirst, 1) || !has(PieceKind::kSecond, seconds)) {
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

// The combined post-processors of a sequence.
struct Steps {
  Postprocessor::Options options;
  std::string_view adds;  // name of the post-processor that adds special tokens
  int32_t ids_end;
  // Replace the values of a RobertaProcessing or ByteLevel.
  std::optional<bool> trim_offsets;
  std::optional<bool> add_prefix_space;
};

Result<void> read_step(const Field& processor, Steps& steps);

constexpr TemplatePiece text_piece(PieceKind kind, uint8_t type_id, uint8_t later_type_id) {
  return {kind, type_id, 0, later_type_id};
}
constexpr TemplatePiece special_piece(int32_t id, uint8_t type_id) {
  return {PieceKind::kSpecial, type_id, id, 0};
}

constexpr TemplatePiece kFirst = text_piece(PieceKind::kFirst, 0, 0);
constexpr TemplatePiece kSecond = text_piece(PieceKind::kSecond, 1, 1);

Result<void> read_template_processing(const Field& processor, Steps& steps) {
  Templates& full = steps.options.full;
  SIGNALBOX_TRY(full.single, read_template(processor, "single", 0, steps.ids_end));
  SIGNALBOX_TRY(full.pair, read_template(processor, "pair", 1, steps.ids_end));
  steps.options.plain = full;
  const auto is_special = [](const TemplatePiece& piece) {
    return piece.kind == PieceKind::kSpecial;
  };
  std::erase_if(steps.options.plain.single, is_special);
  std::erase_if(steps.options.plain.pair, is_special);
  return {};
}

Result<void> read_bert(const Field& processor, Steps& steps) {
  SIGNALBOX_TRY(const int32_t sep, read_token_pair(processor, "sep", steps.ids_end));
  SIGNALBOX_TRY(const int32_t cls, read_token_pair(processor, "cls", steps.ids_end));
  const TemplatePiece begin = special_piece(cls, 0);
  const TemplatePiece end = special_piece(sep, 0);
  steps.options.full = {{begin, kFirst, end}, {begin, kFirst, end, kSecond, special_piece(sep, 1)}};
  return {};
}

Result<void> read_byte_level(const Field& processor, Steps& steps) {
  SIGNALBOX_TRY(const bool trim_offsets, flag(processor, "trim_offsets"));
  SIGNALBOX_TRY(const bool add_prefix_space, flag(processor, "add_prefix_space"));
  if (steps.trim_offsets.value_or(trim_offsets))
    steps.options.trims.push_back(steps.add_prefix_space.value_or(add_prefix_space));
  return {};
}

Result<void> read_roberta(const Field& processor, Steps& steps) {
  SIGNALBOX_TRY(const bool trim_offsets, flag(processor, "trim_offsets"));
  SIGNALBOX_TRY(const bool add_prefix_space, flag(processor, "add_prefix_space"));
  if (steps.trim_offsets.value_or(trim_offsets))
    steps.options.trims.push_back(steps.add_prefix_space.value_or(add_prefix_space));
  SIGNALBOX_TRY(const int32_t sep, read_token_pair(processor, "sep", steps.ids_end));
  SIGNALBOX_TRY(const int32_t cls, read_token_pair(processor, "cls", steps.ids_end));
  const TemplatePiece begin = special_piece(cls, 0);
  const TemplatePiece end = special_piece(sep, 0);
  const TemplatePiece second = text_piece(PieceKind::kSecond, 0, 0);
  steps.options.full = {{begin, kFirst, end}, {begin, kFirst, end, end, second, end}};
  // Without special tokens the reference uses type 0 only in the first window.
  steps.options.plain = {{kFirst}, {kFirst, text_piece(PieceKind::kSecond, 0, 1)}};
  return {};
}

Result<void> read_sequence(const Field& processor, Steps& steps) {
  SIGNALBOX_TRY(const Field list, processor.member("processors"));
  SIGNALBOX_TRY(const auto elements, list.elements());
  steps.trim_offsets = steps.add_prefix_space = std::nullopt;  // they concern no inner steps
  for (const Field& element : elements) SIGNALBOX_TRY_VOID(read_step(element, steps));
  return {};
}

struct Processor {
  std::string_view name;
  Result<void> (*read)(const Field& processor, Steps& steps);
  bool adds;
};
constexpr std::array kProcessors = {
    Processor{"BertProcessing", read_bert, true},
    Processor{"ByteLevel", read_byte_level, false},
    Processor{"RobertaProcessing", read_roberta, true},
    Processor{"Sequence", read_sequence, false},
    Processor{"TemplateProcessing", read_template_processing, true},
};

Result<void> read_step(const Field& processor, Steps& steps) {
  SIGNALBOX_TRY(const Field type, type_of(processor));
  const std::string_view name = type.value().text();
  for (const Processor& known : kProcessors) {
    if (known.name != name) continue;
    // The reference can add special tokens around other special tokens, or trim offsets after them.
    // No known file does that, so it is not supported.
    if (!steps.adds.empty() && known.read != read_sequence) {
      return unsupported(type, fmt::format("{} as the last step", steps.adds));
    }
    if (known.adds) steps.adds = known.name;
    return known.read(processor, steps);
  }
  return unsupported(type, names_of(kProcessors));
}

bool is_mark(const TemplatePiece& piece, int32_t id) {
  return piece.kind == PieceKind::kSpecial && piece.id == id;
}

// Puts marks around each text of a template.
void add_marks(bool adds_bos, bool adds_eos, MarkIds marks, Template& out) {
  for (const TemplatePiece& piece : std::exchange(out, {})) {
    const bool is_text = piece.kind != PieceKind::kSpecial;
    if (is_text && adds_bos) out.push_back(special_piece(marks.bos, piece.type_id));
    out.push_back(piece);
    if (is_text && adds_eos) out.push_back(special_piece(marks.eos, piece.type_id));
  }
}

// Without the key of a mark, release 4 of the library follows the default of the class, and release
// 5 the tokenizer.json. If the two differ, this refuses the files, because either choice may be
// wrong.
Result<void> check_missing_flag(const Settings& settings, std::string_view key, bool by_class,
                                bool by_file) {
  if (by_class == by_file) return {};
  return fail(Code::kCorrupt,
              "post_processor: {} the token that {} of {} is about, and {} {} by default: "
              "expected the key to be stated",
              by_file ? "adds" : "lacks", key, kTokenizerConfigFile, settings.begins_by_default,
              by_class ? "adds it" : "leaves it out");
}

// Applies the flags of the settings. To replace marks, the templates are made anew without any
// other special tokens, as the reference does. A flag for a token that is not named has no effect.
Result<void> apply_marks(const Settings& settings, MarkIds marks, Templates& full) {
  const TemplatePiece& first = full.single.front();
  const TemplatePiece& last = full.single.back();
  bool adds_bos = settings.adds_bos == true && marks.bos >= 0 && first.kind != PieceKind::kSpecial;
  bool adds_eos = settings.adds_eos == true && marks.eos >= 0 && last.kind != PieceKind::kSpecial;
  if (settings.replaces_marks) {
    const bool begins = is_mark(first, marks.bos);
    const bool ends = is_mark(last, marks.eos);
    adds_bos = marks.bos < 0 ? begins : settings.adds_bos.value_or(begins);
    adds_eos = marks.eos < 0 ? ends : settings.adds_eos.value_or(ends);
    if (!settings.begins_by_default.empty()) {
      if (marks.bos >= 0 && !settings.adds_bos)
        SIGNALBOX_TRY_VOID(check_missing_flag(settings, "add_bos_token", true, begins));
      if (marks.eos >= 0 && !settings.adds_eos)
        SIGNALBOX_TRY_VOID(check_missing_flag(settings, "add_eos_token", false, ends));
    }
    if (adds_bos == begins && adds_eos == ends) return {};
    full = {{kFirst}, {kFirst, kSecond}};
  }
  add_marks(adds_bos, adds_eos, marks, full.single);
  add_marks(adds_bos, adds_eos, marks, full.pair);
  return {};
}

void remove_types(Postprocessor::Options& options) {
  for (Templates* templates : {&options.full, &options.plain}) {
    for (Template* form : {&templates->single, &templates->pair}) {
      for (TemplatePiece& piece : *form) piece.type_id = piece.later_type_id = 0;
    }
  }
}

}  // namespace

Result<Postprocessor> read_postprocessor(const Field& root, const Settings& settings, MarkIds marks,
                                         int32_t ids_end) {
  const Templates none = {{kFirst}, {kFirst, kSecond}};
  Steps steps{{none, none, {}}, {}, ids_end, settings.trim_offsets, std::nullopt};
  if (settings.trim_offsets) steps.add_prefix_space = settings.add_prefix_space;
  SIGNALBOX_TRY(const auto processor, root.optional_member("post_processor"));
  if (processor) SIGNALBOX_TRY_VOID(read_step(*processor, steps));
  SIGNALBOX_TRY_VOID(apply_marks(settings, marks, steps.options.full));
  if (settings.has_types == false) remove_types(steps.options);
  return Postprocessor(std::move(steps.options));
}

}  // namespace signalbox::tokenizer
