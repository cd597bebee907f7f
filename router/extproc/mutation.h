#pragma once
// From a header as Envoy has it to a header as it should be.

#include "router/extproc/messages.h"
#include "router/http/headers.h"

namespace signalbox::extproc {

/// What makes `from` into `to`. Fields of the connection and of the framing, which Envoy sees to,
/// and Host stay as they are.
Mutation difference(const http::Headers& from, const http::Headers& to);

}  // namespace signalbox::extproc
