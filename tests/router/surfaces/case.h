#pragma once
// Reads and translates data by the name of a surface, for tests and fuzz targets.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/surfaces/anthropic.h"
#include "router/surfaces/anthropic_server.h"
#include "router/surfaces/completions.h"
#include "router/surfaces/responses.h"

namespace signalbox::surfaces::test {

inline constexpr Asking kAsking{"r-1", "0f", "me", 1000};

/// The surfaces are "messages", "completions", "responses", and "server", which stands for chat
/// completions through a server with Anthropic's API.
inline Result<Incoming> read(std::string_view surface, std::string body, ResponseStore& store) {
  if (surface == "messages") return AnthropicSurface().read(std::move(body), kAsking);
  if (surface == "completions") return CompletionsSurface().read(std::move(body), kAsking);
  if (surface == "responses") return ResponsesSurface(store).read(std::move(body), kAsking);
  SIGNALBOX_TRY(MessagesRequest request, to_messages(std::move(body), kAsking.now));
  return Incoming{std::move(request.body), std::move(request.replies)};
}

struct Streamed {
  std::string out;
  std::string error;  // "": no error

  bool operator==(const Streamed&) const = default;
};

/// Feeds a stream in pieces of `piece` bytes.
inline Streamed stream(ReplyTranslator& replies, std::string_view bytes, size_t piece) {
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

}  // namespace signalbox::surfaces::test
