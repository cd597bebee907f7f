#pragma once
// The first stage: the bytes of a request become a chat completion request.

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "router/dialects/dialect.h"
#include "router/gateway/gateway_context.h"
#include "router/request/chat_request.h"

namespace signalbox::gateway {

struct ParsedRequest {
  request::ChatRequest chat;
  /// Turns the reply into the client's API; null for chat completions.
  std::unique_ptr<dialects::ReplyTranslator> replies;
  /// The parts that servers of chat completions do not get.
  dialects::Losses losses = {};
};

/// The Content-Encoding of the body if we cannot read it.
std::optional<std::string_view> unsupported_encoding(const http::Headers& headers);

/// Runs work that takes as long as the request is large: here, or on the pool for reading if it
/// would keep the loop's other requests waiting. Errors: kOverloaded, and those of the interrupt.
http::Task<Result<void>> run_by_size(const RequestScope& scope, size_t bytes,
                                     std::function<void()> work);

/// Parses the body, translates it from the client's API, and inserts the contexts that it refers
/// to, whose bytes `held` counts until it is destroyed. Takes the body out of the request. Errors:
/// those of ChatRequest::parse(), Dialect::read() and Contexts::expand().
http::Task<Result<ParsedRequest>> read_request(const RequestScope& scope, Contexts::Held& held);

}  // namespace signalbox::gateway
