#pragma once
// What a model takes in memory. Beside TextModel, since few who have a model ask.

#include <cstdint>

#include "engine/engine.h"

namespace signalbox::engine {

/// For models that know; a model that stands for another asks that one.
class HasMemory {
 public:
  virtual ~HasMemory() = default;
  /// Bytes of the trunk's weights as the kernels read them: packed in memory of the model's own, or
  /// left in its file, which is mapped and shared with whoever maps it, too. Heads and adapters, a
  /// few megabytes, are not counted, nor is what passes work in.
  virtual uint64_t memory_bytes() const = 0;
};

/// 0 for a model that does not know. Thread-safe.
inline uint64_t memory_bytes_of(const TextEmbedder& model) {
  const auto* known = dynamic_cast<const HasMemory*>(&model);
  return known == nullptr ? 0 : known->memory_bytes();
}

}  // namespace signalbox::engine
