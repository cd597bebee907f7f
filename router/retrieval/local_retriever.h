#pragma once
// Documents of the router's own vector stores.

#include "router/retrieval/retriever.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::retrieval {

/// A search of one of the operators' stores. `stores` may be null; then every search fails.
std::unique_ptr<const Retriever> make_local_retriever(const config::RagPlugin& plugin,
                                                      const config::RagBackend& backend,
                                                      const vector_stores::VectorStores* stores);

}  // namespace signalbox::retrieval
