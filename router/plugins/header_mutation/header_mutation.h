#pragma once
// Applies a decision's changes to the headers sent upstream.

#include "router/config/config.h"
#include "router/http/headers.h"

namespace signalbox::plugins {

/// `client`: the client's fields that remain; `added`: the fields of the configuration.
struct UpstreamHeaders {
  http::Headers client;
  http::Headers added;
};

/// Removes the client's fields that `delete` and `update` name, and adds the fields of `update` and
/// `add`. Does not affect the fields that the router itself writes (framing, the backend's key, the
/// request's id).
UpstreamHeaders mutate_headers(const config::HeaderMutationPlugin& plugin,
                               const http::Headers& client);

}  // namespace signalbox::plugins
