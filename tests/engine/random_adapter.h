#pragma once
// Adapter directories as PEFT writes them, with weights from a fixed generator, and the checkpoint
// that each makes of a model's when it is merged.

#include <filesystem>

#include "base/json.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

class RandomAdapter {
 public:
  /// `row` is a line of data/adapters.jsonl: "adapter", the members of adapter_config.json;
  /// "targets", by the end of a layer's path the rank and the scale that the adapter has there;
  /// "saved", by the name of a tensor the shape of what replaces it; "spelled", names in the file
  /// that differ from "base_model.model." and the name.
  RandomAdapter(const json::Value& row, const Checkpoint& model, unsigned seed);

  const std::filesystem::path& directory() const { return directory_.path(); }
  const Checkpoint& files() const { return files_; }
  const Checkpoint& merged() const { return merged_; }

  /// Writes adapter_model.safetensors again after a change.
  void write(const Checkpoint& files) const;

 private:
  TemporaryDirectory directory_;
  Checkpoint files_;   // as in adapter_model.safetensors
  Checkpoint merged_;  // the model's
};

}  // namespace signalbox::engine
