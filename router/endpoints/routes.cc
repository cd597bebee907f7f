// The router's own models answer requests that name none of the configured ones.

#include "router/endpoints/routes.h"

#include "router/admin/embeddings.h"
#include "router/admin/rerank.h"
#include "router/endpoints/moderations.h"
#include "router/endpoints/pass_through.h"

namespace signalbox::endpoints {

std::vector<http::Route> routes(const gateway::GatewayContext& context,
                                const serving::ServingState& state, http::ThreadPool& pool) {
  OwnModels own{state, pool, {}};
  own.handlers.emplace("/v1/embeddings", admin::embed_for_client);
  own.handlers.emplace("/v1/moderations", moderate);
  for (const auto& [path, handler] : admin::rerank_handlers()) own.handlers.emplace(path, handler);
  return pass_through_routes(context, own);
}

}  // namespace signalbox::endpoints
