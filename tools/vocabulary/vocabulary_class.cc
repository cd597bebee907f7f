// A table of the classes by name.

#include "tools/vocabulary/vocabulary_class.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "tokenizer/hf/classes.h"

namespace signalbox::tools {
namespace {

using Kind = VocabularyKind;

constexpr const char* kGlinerConfig = "gliner_config.json";

constexpr VocabularyClass kClasses[] = {
    {"AlbertTokenizer", Kind::kAlbert, {kAlbertVocabulary}},
    {"BartTokenizer", Kind::kRoberta, {kBytePairVocabulary, kBytePairMerges}},
    {"BertTokenizer", Kind::kBert, {kBertVocabulary}},
    {"CamembertTokenizer", Kind::kCamembert, {kFairseqVocabulary}},
    {"DebertaV2Tokenizer", Kind::kDeberta, {kDebertaVocabulary}},
    {"DistilBertTokenizer", Kind::kBert, {kBertVocabulary}},
    {"ElectraTokenizer", Kind::kBert, {kBertVocabulary}},
    {"GemmaTokenizer", Kind::kGemma, {kDecoderVocabulary}},
    {"GPT2Tokenizer", Kind::kGpt2, {kBytePairVocabulary, kBytePairMerges}},
    {"LlamaTokenizer", Kind::kLlama, {kDecoderVocabulary}},
    {"LongformerTokenizer", Kind::kRoberta, {kBytePairVocabulary, kBytePairMerges}},
    {"MPNetTokenizer", Kind::kMpnet, {kBertVocabulary}},
    {"Qwen2Tokenizer", Kind::kQwen2, {kBytePairVocabulary, kBytePairMerges}},
    {"RobertaTokenizer", Kind::kRoberta, {kBytePairVocabulary, kBytePairMerges}},
    {"T5Tokenizer", Kind::kT5, {kAlbertVocabulary}},
    {"XLMRobertaTokenizer", Kind::kXlmRoberta, {kFairseqVocabulary}}};

// The engine reads a GLiNER only over a DeBERTa.
std::string class_of(const tokenizer::Settings& settings, const ModelFiles& files) {
  for (const std::string& name : {settings.own_class, settings.model_class, settings.type_class}) {
    const bool is_plain = tokenizer::class_named(name).kind == tokenizer::ClassKind::kPlain;
    if (!name.empty() && !is_plain) return name;
  }
  return files.has(kGlinerConfig) ? "DebertaV2Tokenizer" : "";
}

std::vector<std::string_view> vocabularies(const ModelFiles& files) {
  std::vector<std::string_view> out;
  for (const char* name : kVocabularyFiles) {
    if (files.has(name)) out.emplace_back(name);
  }
  return out;
}

VocabularyChoice none(std::string reason) {
  return {.found = nullptr, .reason = std::move(reason)};
}

}  // namespace

Result<tokenizer::Settings> settings_of(const ModelFiles& files) {
  tokenizer::SettingsFiles texts;
  for (const auto& [name, text] : {std::pair(kTokenizerConfigFile, &texts.config),
                                   {kSpecialTokensFile, &texts.special},
                                   {kAddedTokensFile, &texts.added},
                                   {tokenizer::kModelConfigFile, &texts.model}}) {
    if (!files.has(name)) continue;
    SIGNALBOX_TRY(*text, files.read(name));
  }
  return tokenizer::parse_settings(std::move(texts));
}

Result<VocabularyChoice> choose_vocabulary(const ModelFiles& files) {
  const std::vector<std::string_view> there = vocabularies(files);
  if (there.empty()) return none("there is no vocabulary either");
  SIGNALBOX_TRY(const tokenizer::Settings settings, settings_of(files));
  const std::string name = class_of(settings, files);
  if (name.empty()) {
    return none(fmt::format("no tokenizer_class and no known model_type states how to read {}",
                            fmt::join(there, ", ")));
  }
  const auto found = std::ranges::find(kClasses, name, &VocabularyClass::name);
  if (found == std::end(kClasses)) {
    std::vector<std::string_view> known;
    for (const VocabularyClass& one : kClasses) known.push_back(one.name);
    return none(fmt::format("tokenizer_class: {} is not supported (supported: {})",
                            json::quote_briefly(name), fmt::join(known, ", ")));
  }
  for (const char* file : found->files) {
    if (file != nullptr && !files.has(file))
      return none(fmt::format("{} requires {}, which is missing", found->name, file));
  }
  return VocabularyChoice{.found = found, .reason = ""};
}

}  // namespace signalbox::tools
