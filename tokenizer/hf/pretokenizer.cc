// Reads `pre_tokenizer`. Sequences are flattened; null means no steps.

#include "tokenizer/hf/sections.h"

#include <array>
#include <limits>
#include <utility>

#include "tokenizer/split/bert_splitter.h"
#include "tokenizer/split/char_splitter.h"
#include "tokenizer/split/gpt2_splitter.h"
#include "tokenizer/split/metaspace.h"
#include "tokenizer/split/regex_splitter.h"
#include "tokenizer/split/string_splitter.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

Result<void> read_step(const Field& step, Pretokenizer& out);

template <class Step, class... Args>
Result<void> add_splitter(Pretokenizer& out, Args&&... args) {
  out.steps.push_back({std::make_unique<const Step>(std::forward<Args>(args)...), nullptr});
  return {};
}

void add_marker(Pretokenizer& out, std::string mark, SpaceMarker::Prepend prepend) {
  out.steps.push_back({nullptr, std::make_unique<const SpaceMarker>(std::move(mark), prepend)});
}

// Returns a string of exactly one code point.
Result<std::string> character(const Field& object, std::string_view key) {
  SIGNALBOX_TRY(const Field field, object.member(key));
  SIGNALBOX_TRY(const std::string_view value, field.string());
  if (utf8::count(value) != 1) {
    return field.corrupt("expected one character, found {}", in_quotes(value));
  }
  return std::string(value);
}

Result<Behavior> behavior(const Field& field) {
  SIGNALBOX_TRY(const std::string_view name, field.string());
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return field.corrupt(
      "expected Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, found {}",
      in_quotes(name));
}

Result<void> read_bert(const Field&, Pretokenizer& out) {
  return add_splitter<BertSplitter>(out);
}

constexpr std::string_view kByteLevel = "ByteLevel";

Result<void> read_byte_level_with(const Field& step, std::optional<bool> stated,
                                  Pretokenizer& out) {
  SIGNALBOX_TRY(const bool own, flag(step, "add_prefix_space"));
  const bool add_prefix_space = stated.value_or(own);
  SIGNALBOX_TRY_VOID(flag(step, "trim_offsets"));  // only has an effect in post_processor
  SIGNALBOX_TRY(const bool use_regex, flag_or(step, "use_regex", true));
  if (add_prefix_space) add_marker(out, " ", SpaceMarker::Prepend::kAlways);
  if (use_regex) SIGNALBOX_TRY_VOID(add_splitter<Gpt2Splitter>(out));
  out.byte_level = true;
  return {};
}

Result<void> read_byte_level(const Field& step, Pretokenizer& out) {
  return read_byte_level_with(step, std::nullopt, out);
}

Result<SpaceMarker::Prepend> prepend_scheme(const Field& step) {
  using Prepend = SpaceMarker::Prepend;
  SIGNALBOX_TRY(const bool add_prefix_space, flag_or(step, "add_prefix_space", true));
  auto prepend = Prepend::kAlways;
  SIGNALBOX_TRY(const auto scheme, step.optional_member("prepend_scheme"));
  if (scheme) {
    SIGNALBOX_TRY(const std::string_view name, scheme->string());
    if (name == "first") {
      prepend = Prepend::kFirst;
    } else if (name == "never") {
      prepend = Prepend::kNever;
    } else if (name != "always") {
      return scheme->corrupt("expected always, first or never, found {}", in_quotes(name));
    }
  }
  // The older member adds no information. Contradictions are rejected here, as in the reference.
  if (!add_prefix_space && prepend != Prepend::kNever) {
    return step.corrupt("add_prefix_space is false and prepend_scheme is not never");
  }
  return prepend;
}

Result<void> read_metaspace(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const std::string mark, character(step, "replacement"));
  SIGNALBOX_TRY(const SpaceMarker::Prepend prepend, prepend_scheme(step));
  SIGNALBOX_TRY(const bool split, flag_or(step, "split", true));
  add_marker(out, mark, prepend);
  return split ? add_splitter<MarkSplitter>(out, mark) : Result<void>();
}

Result<void> read_whitespace(const Field&, Pretokenizer& out) {
  return add_splitter<WordSplitter>(out);
}

Result<void> read_whitespace_split(const Field&, Pretokenizer& out) {
  return add_splitter<CharSplitter>(out, unicode::is_whitespace, Behavior::kRemoved);
}

Result<void> read_digits(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const bool individual, flag(step, "individual_digits"));
  return add_splitter<CharSplitter>(out, unicode::is_numeric,
                                    individual ? Behavior::kIsolated : Behavior::kContiguous);
}

Result<void> read_punctuation(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const auto field, step.optional_member("behavior"));
  auto chosen = Behavior::kIsolated;
  if (field) {
    SIGNALBOX_TRY(chosen, behavior(*field));
  }
  return add_splitter<CharSplitter>(out, unicode::is_punctuation, chosen);
}

Result<void> read_char_delimiter(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(std::string delimiter, character(step, "delimiter"));
  return add_splitter<StringSplitter>(out, std::move(delimiter), Behavior::kRemoved, false);
}

Result<void> read_fixed_length(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const auto field, step.optional_member("length"));
  int64_t length = 5;
  if (field) {
    SIGNALBOX_TRY(length, field->integer(1, std::numeric_limits<int64_t>::max()));
  }
  return add_splitter<LengthSplitter>(out, length);
}

Result<void> read_split(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const Field pattern, step.member("pattern"));
  SIGNALBOX_TRY(const Field how, step.member("behavior"));
  SIGNALBOX_TRY(const Behavior chosen, behavior(how));
  SIGNALBOX_TRY(const bool invert, flag(step, "invert"));
  SIGNALBOX_TRY(const auto plain, pattern.optional_member("String"));
  SIGNALBOX_TRY(const auto regex, pattern.optional_member("Regex"));
  if (plain.has_value() == regex.has_value()) return pattern.corrupt("expected String or Regex");
  if (regex) {
    SIGNALBOX_TRY(const std::string_view expression, regex->string());
    auto splitter = RegexSplitter::compile(expression, chosen, invert);
    if (!splitter) return fail_in(regex->path(), std::move(splitter).error());
    return add_splitter<RegexSplitter>(out, *std::move(splitter));
  }
  SIGNALBOX_TRY(const std::string_view delimiter, plain->string());
  if (delimiter.empty()) return unsupported(*plain, "a string that is not empty");
  return add_splitter<StringSplitter>(out, std::string(delimiter), chosen, invert);
}

Result<void> read_pretokenizers(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const Field list, step.member("pretokenizers"));
  SIGNALBOX_TRY(const auto elements, list.elements());
  for (const Field& element : elements) SIGNALBOX_TRY_VOID(read_step(element, out));
  return {};
}

struct PretokenizerKind {
  std::string_view name;
  Result<void> (*read)(const Field& step, Pretokenizer& out);
};
constexpr std::array kKinds = {
    PretokenizerKind{"BertPreTokenizer", read_bert},
    PretokenizerKind{kByteLevel, read_byte_level},
    PretokenizerKind{"CharDelimiterSplit", read_char_delimiter},
    PretokenizerKind{"Digits", read_digits},
    PretokenizerKind{"FixedLength", read_fixed_length},
    PretokenizerKind{"Metaspace", read_metaspace},
    PretokenizerKind{"Punctuation", read_punctuation},
    PretokenizerKind{"Sequence", read_pretokenizers},
    PretokenizerKind{"Split", read_split},
    PretokenizerKind{"Whitespace", read_whitespace},
    PretokenizerKind{"WhitespaceSplit", read_whitespace_split},
};

Result<void> read_step(const Field& step, Pretokenizer& out) {
  SIGNALBOX_TRY(const Field type, type_of(step));
  for (const PretokenizerKind& kind : kKinds) {
    if (type.value().text() != kind.name) continue;
    // After ByteLevel the model reads bytes. In the reference, later steps would see GPT-2's
    // letters instead.
    if (out.byte_level && kind.read != read_pretokenizers)
      return unsupported(type, "ByteLevel as the last step");
    return kind.read(step, out);
  }
  return unsupported(type, names_of(kKinds));
}

}  // namespace

Result<Pretokenizer> read_pretokenizer(const Field& root, const Settings& settings) {
  Pretokenizer out;
  SIGNALBOX_TRY(const auto pretokenizer, root.optional_member("pre_tokenizer"));
  if (!pretokenizer) return out;
  SIGNALBOX_TRY(const Field type, type_of(*pretokenizer));
  if (type.value().text() == kByteLevel) {
    SIGNALBOX_TRY_VOID(read_byte_level_with(*pretokenizer, settings.add_prefix_space, out));
  } else {
    SIGNALBOX_TRY_VOID(read_step(*pretokenizer, out));
  }
  return out;
}

}  // namespace signalbox::tokenizer
