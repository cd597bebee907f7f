// `normalizer`.

#include "tokenizer/hf_sections.h"

#include "tokenizer/bert_normalizer.h"

namespace signalbox::tokenizer {
namespace {

Result<std::unique_ptr<const Normalizer>> read_bert(const Field& normalizer) {
  BertNormalizerOptions options;
  SIGNALBOX_TRY(options.clean_text, flag(normalizer, "clean_text"));
  SIGNALBOX_TRY(options.handle_chinese_chars, flag(normalizer, "handle_chinese_chars"));
  SIGNALBOX_TRY(options.lowercase, flag(normalizer, "lowercase"));
  options.strip_accents = options.lowercase;  // what null stands for
  SIGNALBOX_TRY(const auto strip_accents, normalizer.optional_member("strip_accents"));
  if (strip_accents) {
    SIGNALBOX_TRY(options.strip_accents, strip_accents->boolean());
  }
  return std::make_unique<BertNormalizer>(options);
}

Result<void> read_step(const Field& normalizer, Normalizers& steps) {
  SIGNALBOX_TRY(const Field type, type_of(normalizer));
  if (type.value().text() == "Precompiled") {
    SIGNALBOX_TRY(auto precompiled, read_precompiled(normalizer));
    steps.push_back(std::move(precompiled));
    return {};
  }
  if (type.value().text() != "BertNormalizer")
    return not_built(type, "BertNormalizer, Precompiled");
  SIGNALBOX_TRY(auto step, read_bert(normalizer));
  steps.push_back(std::move(step));
  return {};
}

}  // namespace

Result<Normalizers> read_normalizers(const Field& root) {
  Normalizers steps;
  SIGNALBOX_TRY(const auto normalizer, root.optional_member("normalizer"));
  if (normalizer) SIGNALBOX_TRY_VOID(read_step(*normalizer, steps));
  return steps;
}

}  // namespace signalbox::tokenizer
