#pragma once
// The vector stores of the process: opened once, and set anew for each configuration.

#include <memory>

#include "router/serving/serving_state.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::daemon {

/// Null if the configuration stores no documents. Logs the records that cannot be read. Errors:
/// kIo.
Result<std::unique_ptr<vector_stores::VectorStores>> open_documents(const config::Config& config);

/// The folder that open_documents() opens, and the key that names it, for messages.
std::filesystem::path folder_of_documents(const config::Config& config);
std::string key_of_folder(const config::Config& config);

/// A line for each file format that the configuration names and that cannot be read.
std::vector<std::string> document_notices(const config::Config& config);

/// Sets limits and the embedding model, and adds notices for the operator to the state.
void configure_documents(vector_stores::VectorStores& documents, serving::ServingState& state);

}  // namespace signalbox::daemon
