// Repositories also hold training states, other frameworks' weights and demonstrations, which are
// often ten times as large as the files that the engine needs. So files are chosen by the names
// that Hugging Face's libraries give them.

#include "tools/hub/selection.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "engine/pooling_config.h"
#include "engine/prompts.h"
#include "tools/vocabulary/vocabulary_files.h"

namespace signalbox::tools {
namespace {

constexpr const char* kAdapterConfig = "adapter_config.json";

constexpr const char* kSettings[] = {kConfigFile,
                                     kGlinerFile,
                                     kAdapterConfig,
                                     kTokenizerFile,
                                     kTokenizerConfigFile,
                                     kSpecialTokensFile,
                                     "modules.json",
                                     engine::kPromptsFile,
                                     "category_mapping.json",
                                     "pii_type_mapping.json",
                                     "jailbreak_type_mapping.json"};

struct Candidate {
  const char* path;
  Selection::Weights kind;
};

using Kind = Selection::Weights;
constexpr Candidate kModelWeights[] = {{"model.safetensors", Kind::kSafetensors},
                                       {"model.safetensors.index.json", Kind::kSafetensorsIndex},
                                       {"pytorch_model.bin", Kind::kTorch},
                                       {"pytorch_model.bin.index.json", Kind::kTorchIndex},
                                       {"onnx/model.onnx", Kind::kOnnx},
                                       {"model.onnx", Kind::kOnnx},
                                       {"onnx/model_fp16.onnx", Kind::kOnnx},
                                       {"onnx/model_quantized.onnx", Kind::kOnnx}};
constexpr Candidate kAdapterWeights[] = {{"adapter_model.safetensors", Kind::kAdapter}};

// Returns true for "1_Pooling": the folders of sentence-transformers' steps begin with a number.
bool is_step_folder(std::string_view folder) {
  const size_t digits = folder.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && folder[digits] == '_';
}

// Adds the files of the steps after the encoder: a config.json each, and the weights of dense
// layers.
void add_steps(const Repository& repository, std::vector<std::string>& out) {
  for (const RepositoryFile& file : repository.files) {
    const size_t slash = file.path.find('/');
    if (slash == std::string::npos || !is_step_folder(file.path.substr(0, slash))) continue;
    const std::string_view name = std::string_view(file.path).substr(slash + 1);
    const std::string folder = file.path.substr(0, slash + 1);
    const bool is_other_form =
        name == "pytorch_model.bin" && repository.find(folder + "model.safetensors") == nullptr;
    if (name == kConfigFile || name == "model.safetensors" || is_other_form)
      out.push_back(file.path);
  }
}

// Returns the folder of the first step of sentence-transformers, such as "0_Transformer", or "".
std::string_view encoder_folder(const Repository& repository) {
  for (const RepositoryFile& file : repository.files) {
    const std::string_view folder = std::string_view(file.path).substr(0, file.path.find('/'));
    if (folder.starts_with("0_") && file.path.substr(folder.size()) == "/config.json")
      return folder;
  }
  return {};
}

std::string names_of(const Repository& repository) {
  constexpr size_t kShownMax = 12;
  std::vector<std::string_view> names;
  for (const RepositoryFile& file : repository.files) {
    if (names.size() == kShownMax) {
      names.emplace_back("...");
      break;
    }
    names.push_back(file.path);
  }
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> tokenizer_files(const Repository& repository) {
  std::vector<std::string> out;
  if (repository.find(kTokenizerFile) != nullptr) {
    out.emplace_back(kTokenizerFile);
  } else {
    for (const char* name : kVocabularyFiles)
      if (repository.find(name) != nullptr) out.emplace_back(name);
  }
  if (!out.empty() && repository.find(kAddedTokensFile) != nullptr)
    out.emplace_back(kAddedTokensFile);
  return out;
}

Result<Selection> select_files(const Repository& repository) {
  Selection out;
  const bool is_adapter =
      repository.find(kConfigFile) == nullptr && repository.find(kAdapterConfig) != nullptr;
  const std::span<const Candidate> candidates =
      is_adapter ? std::span<const Candidate>(kAdapterWeights) : kModelWeights;
  const auto chosen = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return repository.find(candidate.path) != nullptr;
  });
  if (chosen == candidates.end()) {
    if (const std::string_view folder = encoder_folder(repository); !folder.empty()) {
      return fail(Code::kUnsupported,
                  "the encoder is in {}/, as sentence-transformers wrote it before version 2: load "
                  "the model with a newer version and save it again",
                  folder);
    }
    std::vector<std::string_view> paths;
    for (const Candidate& candidate : candidates) paths.emplace_back(candidate.path);
    return fail(Code::kUnsupported,
                "the repository has no weights that can be read (expected one of {}); it has {}",
                fmt::join(paths, ", "), names_of(repository));
  }
  if (!is_adapter && repository.find(kConfigFile) == nullptr &&
      repository.find(kGlinerFile) == nullptr) {
    return fail(Code::kUnsupported, "the repository has no config.json; it has {}",
                names_of(repository));
  }
  out.weights = chosen->path;
  out.kind = chosen->kind;
  const auto add_existing = [&](std::span<const char* const> names) {
    for (const char* name : names) {
      if (repository.find(name) != nullptr) out.settings.emplace_back(name);
    }
  };
  add_existing(kSettings);
  add_existing(engine::kTextLimitFiles);
  if (!is_adapter) {
    std::ranges::copy_if(tokenizer_files(repository), std::back_inserter(out.settings),
                         [](const std::string& name) { return name != kTokenizerFile; });
  }
  add_steps(repository, out.settings);
  if (out.is_index()) out.settings.push_back(out.weights);
  if (out.kind == Kind::kOnnx) {
    for (const char* ending : {"_data", ".data"}) {
      if (repository.find(out.weights + ending) != nullptr)
        out.more_weights.push_back(out.weights + ending);
    }
  }
  return out;
}

}  // namespace signalbox::tools
