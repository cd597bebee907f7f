// Two tables: the classes by name, and the class that a model_type stands for.

#include "tools/vocabulary/vocabulary_class.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tokenizer/hf/settings.h"

namespace signalbox::tools {
namespace {

using weights::HfConfig;
using Kind = VocabularyKind;

constexpr const char* kConfig = "config.json";
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

struct Type {
  std::string_view model_type;
  std::string_view tokenizer;
};
constexpr Type kTypes[] = {
    {"albert", "AlbertTokenizer"},         {"bert", "BertTokenizer"},
    {"camembert", "CamembertTokenizer"},   {"deberta-v2", "DebertaV2Tokenizer"},
    {"distilbert", "DistilBertTokenizer"}, {"electra", "ElectraTokenizer"},
    {"gemma3_text", "GemmaTokenizer"},     {"mpnet", "MPNetTokenizer"},
    {"nomic_bert", "BertTokenizer"},       {"qwen3", "Qwen2Tokenizer"},
    {"roberta", "RobertaTokenizer"},       {"t5", "T5Tokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"}};

// Returns the class that a file names, without the ending of the library's fast ones.
std::string class_in(const HfConfig& config) {
  auto name = config.root().string("tokenizer_class", "");
  if (!name) return "";
  if (name->ends_with("Fast")) name->resize(name->size() - 4);
  return tokenizer::is_plain_class(*name) ? "" : *std::move(name);
}

std::optional<HfConfig> model_config(const ModelFiles& files) {
  if (!files.has(kConfig)) return {};
  auto text = files.read(kConfig);
  if (!text) return {};
  auto config = HfConfig::parse(*std::move(text), kConfig);
  return config ? std::optional(*std::move(config)) : std::nullopt;  // the engine reports errors
}

// The engine reads a GLiNER only over a DeBERTa.
std::string class_of_model(const ModelFiles& files) {
  const auto config = model_config(files);
  if (!config) return files.has(kGlinerConfig) ? "DebertaV2Tokenizer" : "";
  if (std::string name = class_in(*config); !name.empty()) return name;
  const auto type = config->root().string("model_type", "");
  const auto found = std::ranges::find(kTypes, type ? *type : "", &Type::model_type);
  if (found != std::end(kTypes)) return std::string(found->tokenizer);
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

Result<VocabularyChoice> choose_vocabulary(const ModelFiles& files) {
  const std::vector<std::string_view> there = vocabularies(files);
  if (there.empty()) return none("there is no vocabulary either");
  std::string name;
  if (files.has(kTokenizerConfigFile)) {
    SIGNALBOX_TRY(std::string text, files.read(kTokenizerConfigFile));
    SIGNALBOX_TRY(const auto config, HfConfig::parse(std::move(text), kTokenizerConfigFile));
    name = class_in(config);
  }
  if (name.empty()) name = class_of_model(files);
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
