#pragma once
// What a decision changes in the header that goes upstream.

#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::plugins {

/// `client` are the client's fields that stay, `added` those of the configuration.
struct UpstreamHeaders {
  http::Headers client;
  http::Headers added;
};

/// Fields that `delete` and `update` name are taken out of the client's; those of `update` and
/// `add` are added. What the router says itself (framing, the backend's key, the request's id) is
/// not among these and stays as it is.
UpstreamHeaders mutate_headers(const config::HeaderMutationPlugin& plugin,
                               const http::Headers& client);

}  // namespace signalbox::plugins
