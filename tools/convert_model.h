#pragma once
// A model of any format that is read to a directory that the engine reads.

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
  /// Packs the trunk's matrices so (engine/pack_model.h); none: left as they are.
  std::optional<engine::Precision> precision = {};
  /// A directory of PEFT's to merge into the weights; its config.json and label mappings, where it
  /// has them, take the place of the model's. Empty: none.
  std::filesystem::path adapter = {};
  std::filesystem::path config;  // in place of the config.json that is found; empty: none
  std::function<void(std::string_view line)> say = [](std::string_view) {};  // what is done
};

/// Writes to `out`, a directory that is made: config.json, the files of the tokenizer and of the
/// pooling that lie beside `file` or are made from it, and at last model.safetensors, every tensor
/// of which is read back and compared. Returns a line of JSON that sums up. Errors name the file:
/// those of read_foreign_model(), kNotFound without a config.json, kIo.
Result<std::string> convert_model(const std::filesystem::path& file, ModelFormat format,
                                  const std::filesystem::path& out,
                                  const ConvertModelOptions& options);

}  // namespace signalbox::tools
