#pragma once
// Adapter directories in PEFT's format with weights from a fixed generator, and the checkpoint that
// results from merging each into a model.

#include <filesystem>

#include "base/json.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

class RandomAdapter {
 public:
  /// `row` is a line of data/adapters.jsonl. "adapter": the members of adapter_config.json.
  /// "targets": the adapter's rank and scale, by the end of a layer's path. "saved": the shape of a
  /// replacement, by tensor name. "spelled": names in the file that differ from "base_model.model."
  /// plus the name.
  RandomAdapter(const json::Value& row, const Checkpoint& model, unsigned seed);

  const std::filesystem::path& directory() const { return directory_.path(); }
  const Checkpoint& files() const { return files_; }
  const Checkpoint& merged() const { return merged_; }

  /// Rewrites adapter_model.safetensors after a change.
  void write(const Checkpoint& files) const;

 private:
  TemporaryDirectory directory_;
  Checkpoint files_;   // contents of adapter_model.safetensors
  Checkpoint merged_;  // the merged model
};

}  // namespace signalbox::engine
