// The router's own models answer requests that name none of the configured ones.

#include "router/endpoints/routes.h"

#include "router/admin/client_route.h"
#include "router/admin/embeddings.h"
#include "router/admin/rerank.h"
#include "router/endpoints/moderations.h"
#include "router/endpoints/pass_through.h"

namespace signalbox::endpoints {

std::vector<http::Route> routes(const gateway::GatewayContext& context,
                                const serving::ServingState& state, http::ThreadPool& pool) {
  OwnHandlers own;
  std::vector<http::Route> ours = admin::client_rerank_routes(state, pool);
  ours.push_back(admin::openai_embeddings_route(state, pool));
  ours.push_back(admin::client_route("/v1/moderations", state, pool, moderate));
  for (http::Route& route : ours) own.emplace(route.path, std::move(route.handler));
  return pass_through_routes(context, own);
}

}  // namespace signalbox::endpoints
