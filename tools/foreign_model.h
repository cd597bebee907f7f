#pragma once
// A model in a format that is not the engine's, read: which format a file is of, its tensors under
// Hugging ClientApi's names, and what else the file says of the model.

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

/// The file with the weights when `in` is a model directory: the first that is there of
/// safetensors, PyTorch, GGUF and ONNX (also in onnx/). `in` itself when it is a file. kNotFound,
/// naming the directory.
Result<std::filesystem::path> weights_file(const std::filesystem::path& in);

/// By the name for indices and ONNX, which has no mark of its own, otherwise by the first bytes;
/// none when it is no file of weights.
std::optional<ModelFormat> model_format(const std::filesystem::path& file);

struct ForeignModel {
  weights::TensorList tensors;               // what is to be written
  std::map<std::string, std::string> files;  // texts of a model directory, made from the file alone
};

/// Errors name the file, as the readers in weights/ do.
Result<ForeignModel> read_foreign_model(const std::filesystem::path& file, ModelFormat format);

}  // namespace signalbox::tools
