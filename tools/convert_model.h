#pragma once
// Converts a model of any supported format to a directory that the engine reads.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/engine.h"
#include "tools/foreign_model.h"

namespace signalbox::tools {

struct ConvertModelOptions {
  /// Packs the trunk's matrices with this precision (engine/pack_model.h); nullopt: not packed.
  std::optional<engine::Precision> precision = {};
  /// A PEFT adapter directory to merge into the weights. If it has a config.json or label mappings,
  /// they replace the model's. Empty: no adapter.
  std::filesystem::path adapter = {};
  /// Replaces the config.json that is found next to the model. Empty: no replacement.
  std::filesystem::path config;
  /// Receives progress lines.
  std::function<void(std::string_view line)> print = [](std::string_view) {};
};

/// Creates the directory `out` and writes to it: config.json, the files of the tokenizer and of the
/// pooling (copied from next to `file` or derived from it), and last model.safetensors. Every
/// tensor is read back and compared. Returns a summary as one line of JSON. Errors name the
/// file: those of read_foreign_model(); kNotFound without a config.json; kIo.
Result<std::string> convert_model(const std::filesystem::path& file, ModelFormat format,
                                  const std::filesystem::path& out,
                                  const ConvertModelOptions& options);

}  // namespace signalbox::tools
