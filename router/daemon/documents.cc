// A relative folder lies beside the configuration, like the ledger.

#include "router/daemon/documents.h"

#include "base/log.h"
#include "router/models/shaped_embedder.h"

namespace signalbox::daemon {
namespace {

/// The extensions of files that are read and accepted.
std::vector<std::string> accepted_extensions(const config::VectorStore& store) {
  std::vector<std::string> out = store.supported_formats;
  if (out.empty()) return vector_stores::readable_extensions();
  std::erase_if(out, [](const std::string& each) { return !vector_stores::is_readable(each); });
  return out;
}

vector_stores::Limits document_limits(const config::VectorStore& store) {
  return {.file_bytes = uint64_t{store.max_file_size_mb} << 20,
          .bytes = store.bytes_max,
          .owner_bytes = store.owner_bytes_max,
          .owner_files = store.owner_files_max,
          .owner_stores = store.owner_stores_max,
          .store_chunks = store.memory.max_entries_per_store,
          .extensions = accepted_extensions(store)};
}

}  // namespace

Result<std::unique_ptr<vector_stores::VectorStores>> open_documents(const config::Config& config) {
  const config::VectorStore& store = config.vector_store;
  if (!config::is_served(store)) return nullptr;
  const auto folder = folder_of_documents(config);
  std::vector<std::string> reports;
  auto opened = vector_stores::VectorStores::open(folder, store.ingestion_workers, reports);
  if (!opened) {
    return fail_in(key_of_folder(config), std::move(opened).error());
  }
  for (const std::string& report : reports) log::warn("vector_stores", "{}", report);
  return opened;
}

std::filesystem::path folder_of_documents(const config::Config& config) {
  return std::filesystem::path(config.source).parent_path() / config.vector_store.file_storage_dir;
}

std::string key_of_folder(const config::Config& config) {
  return fmt::format("{}: global.stores.vector_store.file_storage_dir", config.source);
}

std::vector<std::string> document_notices(const config::Config& config) {
  std::vector<std::string> out;
  if (!config::is_served(config.vector_store)) return out;
  for (const std::string& extension : config.vector_store.supported_formats) {
    if (vector_stores::is_readable(extension)) continue;
    out.push_back(
        fmt::format("{}: global.stores.vector_store.supported_formats: files of the type {} "
                    "cannot be read and are refused",
                    config.source, extension));
  }
  return out;
}

void configure_documents(vector_stores::VectorStores& documents, serving::ServingState& state) {
  const config::Config& config = state.config();
  documents.set_limits(document_limits(config.vector_store));
  const auto& embedder = state.router->models().embedder;
  if (embedder == nullptr) {
    state.notices.push_back(
        fmt::format("{}: global.stores.vector_store: there is no embedding model; files of vector "
                    "stores wait, and searches fail",
                    config.source));
    documents.set_embedder({});
    return;
  }
  const auto dim = static_cast<size_t>(embedder->dim());
  documents.set_embedder({models::space_of(config.embedding_model, dim), embedder});
}

}  // namespace signalbox::daemon
