#pragma once
// A model directory for a given config.json, with weights from a fixed generator.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/engine/checkpoint.h"
#include "tests/engine/reference.h"

namespace signalbox::engine {

class RandomNetwork {
 public:
  /// `config` is the text of a config.json. With `tokenizer`, also writes a tokenizer of letters.
  explicit RandomNetwork(std::string_view config, bool tokenizer = false,
                         const std::string& dtype = "F32");

  const std::filesystem::path& directory() const { return directory_.path(); }
  const Checkpoint& tensors() const { return tensors_; }
  int32_t vocabulary() const;

  /// Returns `count` ids from a generator seeded with `count`.
  std::vector<int32_t> ids(int32_t count) const;

  ReferenceOutput reference(const std::vector<int32_t>& ids) const {
    return engine::reference(config_.root(), tensors_, ids);
  }

  /// Rewrites model.safetensors after a change.
  void write(const Checkpoint& tensors) const;

 private:
  json::Document config_;
  std::string dtype_;
  TemporaryDirectory directory_;
  Checkpoint tensors_;
};

/// Returns the JSON text of an object with the members of `own` plus the members of `defaults` that
/// are missing in it.
std::string merge_objects(const json::Value& own, const json::Value& defaults);

/// Returns a small ModernBERT's config.json as an object's members, without the braces.
std::string small_modern_bert(std::string_view architecture, int32_t layers = 4);

}  // namespace signalbox::engine
