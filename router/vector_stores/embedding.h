#pragma once
// From the text of a file to its chunks and their vectors.

#include <functional>
#include <string_view>
#include <vector>

#include "router/vector_stores/vector_stores.h"

namespace signalbox::vector_stores {

/// Cuts the text so that the model reads each chunk completely. A model on a server does not report
/// its tokens, so its chunks are limited by the bytes that `chunking` allows. Errors: kTooLarge for
/// more than `chunks_max` chunks; those of the model's tokenizer.
Result<std::vector<std::string_view>> cut_for(const engine::TextEmbedder& model,
                                              std::string_view text, const Chunking& chunking,
                                              size_t chunks_max);

/// Embeds the chunks, a few at a time, as long as `is_wanted` returns true. Errors: kCancelled;
/// those of the model.
Result<Embedded> embed_chunks(const Embedder& embedder, std::span<const std::string_view> chunks,
                              const std::function<bool()>& is_wanted,
                              const engine::Patience& patience);

}  // namespace signalbox::vector_stores
