// Reads `normalizer`, with one reader per type. Sequences are flattened and can be nested.

#include "tokenizer/hf/sections.h"

#include <string>
#include <utility>

#include "tokenizer/normalize/bert_normalizer.h"
#include "tokenizer/normalize/character_map.h"
#include "tokenizer/normalize/edge_normalizers.h"
#include "tokenizer/normalize/normal_form.h"
#include "tokenizer/normalize/replace.h"

namespace signalbox::tokenizer {
namespace {

using Step = std::unique_ptr<const Normalizer>;

constexpr size_t kPrependBytesMax = 1024;

constexpr std::string_view kBert = "BertNormalizer";

Result<Step> read_bert_with(const Field& normalizer, const Settings& settings) {
  BertNormalizerOptions options;
  SIGNALBOX_TRY(options.clean_text, flag(normalizer, "clean_text"));
  SIGNALBOX_TRY(options.handle_chinese_chars, flag(normalizer, "handle_chinese_chars"));
  SIGNALBOX_TRY(options.lowercase, flag(normalizer, "lowercase"));
  SIGNALBOX_TRY(auto strip_accents, optional_flag(normalizer, "strip_accents"));
  if (!settings.keeps_normalizer) {
    options.handle_chinese_chars =
        settings.handle_chinese_chars.value_or(options.handle_chinese_chars);
    options.lowercase = settings.lowercase.value_or(options.lowercase);
    strip_accents = settings.strip_accents.value_or(strip_accents);
  }
  options.strip_accents = strip_accents.value_or(options.lowercase);
  return std::make_unique<BertNormalizer>(options);
}

Result<Step> read_bert(const Field& normalizer) {
  return read_bert_with(normalizer, {});
}

template <bool kCompatible, bool kComposed>
Result<Step> read_normal_form(const Field&) {
  return std::make_unique<NormalForm>(
      NormalForm::Kind{.compatible = kCompatible, .composed = kComposed});
}

template <CharacterMap::Map kMap>
Result<Step> read_character_map(const Field&) {
  return std::make_unique<CharacterMap>(kMap);
}

Result<Step> read_strip(const Field& normalizer) {
  SIGNALBOX_TRY(const bool left, flag(normalizer, "strip_left"));
  SIGNALBOX_TRY(const bool right, flag(normalizer, "strip_right"));
  return std::make_unique<Strip>(left, right);
}

// Prepending empty text, or replacing with empty text, is rejected: in the reference the result has
// no source, and later steps abort or give wrong results.
Result<Step> read_prepend(const Field& normalizer) {
  SIGNALBOX_TRY(const Field prepend, normalizer.member("prepend"));
  SIGNALBOX_TRY(const std::string_view content, prepend.string());
  if (content.empty()) return prepend.corrupt("expected text, found nothing");
  if (content.size() > kPrependBytesMax) {
    return prepend.corrupt("{} bytes, expected at most {}", content.size(), kPrependBytesMax);
  }
  return std::make_unique<Prepend>(content);
}

Result<Step> read_replace(const Field& normalizer) {
  SIGNALBOX_TRY(const std::string_view content, text(normalizer, "content"));
  SIGNALBOX_TRY(const Field pattern, normalizer.member("pattern"));
  SIGNALBOX_TRY(const auto literal, pattern.optional_member("String"));
  SIGNALBOX_TRY(const auto expression, pattern.optional_member("Regex"));
  if (literal.has_value() == expression.has_value()) {
    return pattern.corrupt("expected String or Regex");
  }
  if (literal) {
    SIGNALBOX_TRY(const std::string_view found, literal->string());
    if (found.empty()) return literal->corrupt("expected text, found nothing");
    return std::make_unique<ReplaceString>(found, content);
  }
  SIGNALBOX_TRY(const std::string_view written, expression->string());
  auto regex = Regex::compile(written);
  if (!regex) return fail_in(expression->path(), std::move(regex).error());
  if (regex->may_be_empty()) {
    return fail(Code::kUnsupported, "{}: {} can match the empty string, which is not supported",
                expression->path(), in_quotes(written));
  }
  return std::make_unique<ReplaceRegex>(std::move(*regex), content);
}

struct Reader {
  std::string_view type;
  Result<Step> (*read)(const Field& normalizer);
};

constexpr Reader kReaders[] = {
    {kBert, read_bert},
    {"Lowercase", read_character_map<unicode::to_lower>},
    {"NFC", read_normal_form<false, true>},
    {"NFD", read_normal_form<false, false>},
    {"NFKC", read_normal_form<true, true>},
    {"NFKD", read_normal_form<true, false>},
    {"Nmt", read_character_map<clean_for_translation>},
    {"Precompiled", read_precompiled},
    {"Prepend", read_prepend},
    {"Replace", read_replace},
    {"Strip", read_strip},
    {"StripAccents", read_character_map<without_marks>},
};

constexpr std::string_view kSequence = "Sequence";

std::string built() {
  std::string out;
  for (const Reader& reader : kReaders) out += fmt::format("{}, ", reader.type);
  return out += kSequence;
}

// Limits the growth of a text: several Replace steps multiply.
constexpr size_t kStepsMax = 32;
constexpr size_t kGrowthMax = 64;

Result<void> check_growth(const Field& normalizer, const Normalizers& steps) {
  size_t growth = 1;
  for (const auto& step : steps) {
    growth *= step->growth();
    if (growth > kGrowthMax) {
      return normalizer.corrupt("makes a text over {} times as long", kGrowthMax);
    }
  }
  if (steps.size() <= kStepsMax) return {};
  return normalizer.corrupt("{} steps, expected at most {}", steps.size(), kStepsMax);
}

Result<void> read_steps(const Field& normalizer, Normalizers& steps) {
  SIGNALBOX_TRY(const Field type, type_of(normalizer));
  const std::string_view name = type.value().text();
  if (name == kSequence) {
    SIGNALBOX_TRY(const Field list, normalizer.member("normalizers"));
    SIGNALBOX_TRY(const auto elements, list.elements());
    for (const Field& element : elements) SIGNALBOX_TRY_VOID(read_steps(element, steps));
    return {};
  }
  for (const Reader& reader : kReaders) {
    if (reader.type != name) continue;
    SIGNALBOX_TRY(Step step, reader.read(normalizer));
    steps.push_back(std::move(step));
    return {};
  }
  return unsupported(type, built());
}

}  // namespace

Result<Normalizers> read_normalizers(const Field& root, const Settings& settings) {
  Normalizers steps;
  SIGNALBOX_TRY(const auto normalizer, root.optional_member("normalizer"));
  if (!normalizer) return steps;
  SIGNALBOX_TRY(const Field type, type_of(*normalizer));
  if (type.value().text() == kBert) {
    SIGNALBOX_TRY(steps.emplace_back(), read_bert_with(*normalizer, settings));
    return steps;
  }
  SIGNALBOX_TRY_VOID(read_steps(*normalizer, steps));
  SIGNALBOX_TRY_VOID(check_growth(*normalizer, steps));
  return steps;
}

}  // namespace signalbox::tokenizer
