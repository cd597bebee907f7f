#pragma once
// The vector stores of the process: opened once, and set anew for each configuration.

#include <memory>

#include "router/serving/serving_state.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::daemon {

/// Null if the configuration stores no documents. Logs the records that cannot be read. Errors:
/// kIo.
Result<std::unique_ptr<vector_stores::VectorStores>> open_documents(const config::Config& config);

/// Sets limits and the embedding model, and adds notices for the operator to the state.
void configure_documents(vector_stores::VectorStores& documents, serving::ServingState& state);

}  // namespace signalbox::daemon
