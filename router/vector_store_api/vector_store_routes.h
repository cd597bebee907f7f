#pragma once
// Files and vector stores over HTTP: a client's own on the data listeners, and the operators' on
// the management listener.

#include <functional>
#include <span>
#include <vector>

#include "router/admin/management.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::vector_store_api {

/// The threads of requests.
struct Pools {
  http::ThreadPool& storage;  // wait for the disk
  http::ThreadPool& models;   // run the embedder
};

/// /v1/files and /v1/vector_stores for the owner that access::owner_of() finds. Requests for files
/// with another purpose than documents, and for ids that were not made here, go to the route of
/// `passing` with the same method and path. The arguments outlive the routes.
std::vector<http::Route> client_routes(vector_stores::VectorStores& stores,
                                       const config::Config& config, const Pools& pools,
                                       std::span<const http::Route> passing);

/// Null: none are stored.
using StoresOf = std::function<vector_stores::VectorStores*()>;
/// The same for the operators' files and stores.
std::vector<http::Route> operator_routes(StoresOf stores, const serving::CurrentState& current,
                                         http::ThreadPool& pool);

}  // namespace signalbox::vector_store_api
