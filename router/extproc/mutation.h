#pragma once
// Computes the changes from the header that Envoy has to the header that we want.

#include "router/extproc/messages.h"
#include "router/http/headers.h"

namespace signalbox::extproc {

/// Returns the changes that turn `from` into `to`. Host, and the fields for connection and framing,
/// which Envoy handles itself, stay unchanged.
Mutation difference(const http::Headers& from, const http::Headers& to);

}  // namespace signalbox::extproc
