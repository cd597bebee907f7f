#pragma once
// The documents of a search in the order in which a model finds them relevant.

#include <memory>

#include "engine/engine.h"
#include "router/retrieval/retriever.h"

namespace signalbox::retrieval {

/// Orders what `search` finds, and keeps the plugin's `rerank.top_k` documents. The model has
/// `timeout_seconds` of the plugin's backend, or 5 seconds; then it begins no other pass. If there
/// is no model, or it fails, the order stays; with `on_failure: block` the search has failed.
/// `directory` is that of the model, which may be null. Errors: kInvalid for a model that is no
/// reranker; those of engine::find_model() and engine::find_head().
Result<std::unique_ptr<const Retriever>> rerank(std::unique_ptr<const Retriever> search,
                                                const config::RagPlugin& plugin,
                                                std::shared_ptr<const engine::TextModel> model,
                                                const std::string& directory);

}  // namespace signalbox::retrieval
