#pragma once
// The engine's public face: a model directory becomes an object that turns text into vectors.
// Everything behind it (tokenizer, encoder, kernels) can be used on its own, but most callers need
// this file only.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::engine {

/// Something that embeds sentences. Implementations are immutable and thread-safe.
class TextEmbedder {
 public:
  virtual ~TextEmbedder() = default;
  /// Length of one embedding.
  virtual int32_t dim() const = 0;
  /// Writes L2-normalised embeddings to out (texts, dim), row-major. Texts over the model's limit
  /// are cut on the right. A text's embedding does not depend on what else is in the call.
  /// Precondition: out.size() is texts.size() * dim().
  virtual Result<void> embed(std::span<const std::string_view> texts,
                             std::span<float> out) const = 0;
};

/// A model directory (config.json, tokenizer.json, *.safetensors) loaded for inference.
class TextModel : public TextEmbedder {
 public:
  /// Errors name the file: kNotFound, kIo, kCorrupt, kUnsupported (an architecture or option that
  /// is not built).
  static Result<std::unique_ptr<const TextModel>> open(const std::filesystem::path& directory);

  /// Most tokens of one text, special tokens included.
  virtual int32_t tokens_max() const = 0;
  /// Width of the hidden states; equal to dim() for models without a projection.
  virtual int32_t hidden() const = 0;
  /// Token ids to the last layer's hidden states, (tokens, hidden) row-major. kInvalid for an id
  /// out of range or more than tokens_max ids.
  virtual Result<std::vector<float>> last_hidden_state(std::span<const int32_t> ids) const = 0;
  /// Text to ids, as embed() does it.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
};

}  // namespace signalbox::engine
