#pragma once
// The memory used by a model. It is separate from TextModel because few callers need it.

#include <cstdint>

#include "engine/engine.h"

namespace signalbox::engine {

/// Implemented by models that can report their memory use. A wrapper forwards to its model.
class HasMemory {
 public:
  virtual ~HasMemory() = default;
  /// Bytes of the trunk's weights as used by the kernels: packed in the model's own memory, or in
  /// its mapped file, which other processes may share. Heads and adapters (a few megabytes) and
  /// working memory are not included.
  virtual uint64_t memory_bytes() const = 0;
};

/// Returns 0 if the model does not implement HasMemory. Thread-safe.
inline uint64_t memory_bytes_of(const TextEmbedder& model) {
  const auto* known = dynamic_cast<const HasMemory*>(model.text_model());
  return known == nullptr ? 0 : known->memory_bytes();
}

}  // namespace signalbox::engine
