#pragma once
// The files of a repository that the engine needs. Pure: takes a listing, returns names.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/hub/repository.h"

namespace signalbox::tools {

// Files of every model directory.
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kGlinerFile = "gliner_config.json";  // of GLiNER, instead or as well
inline constexpr const char* kTokenizerFile = "tokenizer.json";
inline constexpr const char* kWeightsFile = "model.safetensors";

struct Selection {
  enum class Weights : uint8_t {
    kSafetensors,       // the engine reads them as they are
    kSafetensorsIndex,  // the same, in several files
    kTorch,             // converted after the download
    kTorchIndex,
    kOnnx,
    kAdapter,  // a low-rank adapter, which needs its base model, too
  };
  /// Settings, tokenizer, label names, pooling, and the index of weights in several files.
  std::vector<std::string> settings;
  /// The file that holds or lists the weights; an index is part of `settings`, too.
  std::string weights;
  /// Files that belong to `weights`, such as ONNX's external data.
  std::vector<std::string> more_weights;
  Weights kind = Weights::kSafetensors;

  bool is_index() const {
    return kind == Weights::kSafetensorsIndex || kind == Weights::kTorchIndex;
  }
};

/// Returns a repository's tokenizer.json, or else its vocabularies, from which one may be made, and
/// the tokens that were added to them. Empty: it has neither.
std::vector<std::string> tokenizer_files(const Repository& repository);

/// Prefers safetensors over PyTorch over ONNX, and one file over several. Errors: kUnsupported
/// without weights of such a format or without a configuration; the message lists what the
/// repository has instead.
Result<Selection> select_files(const Repository& repository);

}  // namespace signalbox::tools
