#pragma once
// Reads and translates data by the name of a surface, for tests and fuzz targets.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/dialects/anthropic.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/completions.h"
#include "router/dialects/responses.h"

namespace signalbox::dialects::test {

inline const dialects::RequestContext kRequestContext{"r-1", "0f", "me", 1000};

/// The surfaces are "messages", "completions", "responses", and "server", which stands for chat
/// completions through a server with Anthropic's API.
inline Result<dialects::Incoming> read(std::string_view surface, std::string body,
                                       dialects::ResponseStore& store) {
  if (surface == "messages")
    return dialects::AnthropicDialect().read(std::move(body), kRequestContext);
  if (surface == "completions")
    return dialects::CompletionsDialect().read(std::move(body), kRequestContext);
  if (surface == "responses")
    return dialects::ResponsesDialect(store).read(std::move(body), kRequestContext);
  SIGNALBOX_TRY(dialects::MessagesRequest request,
                dialects::to_messages(std::move(body), kRequestContext.now));
  return dialects::Incoming{std::move(request.body), std::move(request.replies),
                            std::move(request.losses)};
}

struct Streamed {
  std::string out;
  std::string error;  // "": no error

  bool operator==(const Streamed&) const = default;
};

/// Feeds a stream in pieces of `piece` bytes.
inline Streamed stream(dialects::ReplyTranslator& replies, std::string_view bytes, size_t piece) {
  Streamed out;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const Result<void> pushed = replies.push(bytes.substr(at, piece), out.out);
    if (!pushed) {
      out.error = pushed.error().message;
      return out;
    }
  }
  if (const Result<void> finished = replies.finish(out.out); !finished)
    out.error = finished.error().message;
  return out;
}

}  // namespace signalbox::dialects::test
