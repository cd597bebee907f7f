#pragma once
// The classes of tokenizers of Hugging Face's library that are built from a vocabulary instead of a
// tokenizer.json.

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/hf/settings.h"
#include "tools/vocabulary/vocabulary_files.h"

namespace signalbox::tools {

/// The files of a model.
struct ModelFiles {
  std::function<bool(const std::string& name)> has;
  /// Reads a file that is there. Errors name it.
  std::function<Result<std::string>(const std::string& name)> read;
};

/// Reads the settings of a model's tokenizer. Errors: those of tokenizer::parse_settings().
Result<tokenizer::Settings> settings_of(const ModelFiles& files);

enum class VocabularyKind : uint8_t {
  kBert,
  kMpnet,
  kDeberta,
  kXlmRoberta,
  kCamembert,
  kAlbert,
  kT5,
  kLlama,
  kGemma,
  kRoberta,
  kGpt2,
  kQwen2
};

struct VocabularyClass {
  std::string_view name;  // "XLMRobertaTokenizer"
  VocabularyKind kind;
  std::array<const char*, 2> files;  // that it requires; the second may be null
};

struct VocabularyChoice {
  const VocabularyClass* found = nullptr;
  std::string reason;  // why none was found, for the user
};

/// Returns the class of a model's tokenizer: what tokenizer_config.json or config.json names, or
/// what the model_type of config.json stands for. None is found if the class is unknown or one of
/// its files is missing. Errors: those of settings_of().
Result<VocabularyChoice> choose_vocabulary(const ModelFiles& files);

}  // namespace signalbox::tools
