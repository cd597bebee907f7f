#pragma once
// Reads a model in a format that is not the engine's: detects the format of a file, and returns its
// tensors under Hugging Face's names with the configuration that the file contains.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::tools {

enum class ModelFormat { kOnnx, kGguf, kTorch, kTorchIndex, kSafetensors, kSafetensorsIndex };

/// "onnx".
std::string_view format_name(ModelFormat format);

/// If `in` is a model directory, returns its weights file: the first one found of safetensors,
/// PyTorch, GGUF and ONNX (also in onnx/). If `in` is a file, returns it. kNotFound names the
/// directory.
Result<std::filesystem::path> weights_file(const std::filesystem::path& in);

/// Detects the format by name for index files and ONNX, which has no magic number, and otherwise by
/// the first bytes. nullopt if the file is not a weights file.
std::optional<ModelFormat> model_format(const std::filesystem::path& file);

struct ForeignModel {
  weights::TensorList tensors;               // to be written
  std::map<std::string, std::string> files;  // of a model directory, derived from this file alone
};

/// Errors name the file, as those of the readers in weights/ do.
Result<ForeignModel> read_foreign_model(const std::filesystem::path& file, ModelFormat format);

}  // namespace signalbox::tools
