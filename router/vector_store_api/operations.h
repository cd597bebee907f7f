#pragma once
// The operations of requests for files and vector stores, without HTTP around them.

#include <span>
#include <string>
#include <string_view>

#include "engine/patience.h"
#include "router/http/message.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::vector_store_api {

/// One request of one owner.
struct StoreCall {
  vector_stores::VectorStores& stores;
  const http::Request& request;
  std::string owner;
  engine::Patience patience = {};
};

struct ApiReply {
  std::string body = {};
  std::string content_type = "application/json";
  bool passes = false;  // the request is for the server that holds the other files
};

/// It may block.
using Operation = Result<ApiReply> (*)(const StoreCall&);

struct ApiRoute {
  const char* method;
  const char* path;  // whole, or a prefix that ends in '/'
  Operation operation;
  bool changes;  // true: it changes stored records
};
std::span<const ApiRoute> api_routes();
/// True for a search of a store, which only reads and runs a model.
bool is_search(const http::Request& request);

}  // namespace signalbox::vector_store_api
