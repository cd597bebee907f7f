#pragma once
// Texts embedded by a server with OpenAI's embeddings API.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "router/config/catalog.h"

namespace signalbox::models {

/// Returns an embedder for a valid endpoint (is_remote()). Without `dimensions` it embeds one word
/// to learn the width. Its calls block; they end at the time limit of the endpoint or at the
/// caller's deadline. Errors: those of a call; kInvalid if the key's environment variable is unset.
Result<std::shared_ptr<const engine::TextEmbedder>> open_remote_embedder(
    const config::EmbeddingEndpoint& endpoint);

/// Reads the body of a reply into out (texts, dim), L2-normalised. Errors, kUpstream: not JSON, a
/// missing or repeated text, a vector of another width, numbers that are not finite or all zero.
Result<void> read_embeddings_reply(std::string body, size_t texts, std::span<float> out);

}  // namespace signalbox::models
