#pragma once
// The first stage: the bytes of a request become a chat completion request.

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

/// Parses the body, translates it from the client's API, and inserts the contexts that it refers
/// to, whose bytes `held` counts until it is destroyed. Takes the body out of the request. Errors:
/// those of ChatRequest::parse(), Dialect::read() and Contexts::expand().
http::Task<Result<ParsedRequest>> read_request(const RequestScope& scope, Contexts::Held& held);

}  // namespace signalbox::gateway
