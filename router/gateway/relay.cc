// Compressed bytes pass as they are: Content-Encoding is not touched.

#include "router/gateway/relay.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "router/http/deadline.h"
#include "router/http/error_reply.h"

namespace signalbox::gateway {
namespace {

constexpr std::string_view kUpstreamId = "x-vsr-upstream-request-id";

http::Headers reply_fields(const http::Headers& upstream, const http::Headers& ours) {
  const http::EndToEnd passes(upstream);
  http::Headers out;
  for (size_t i = 0; i < upstream.size(); ++i) {
    const http::Field field = upstream[i];
    const auto own = ours.find(field.name);
    // A server's cookie would identify the router's client to it, or one client to another's
    // session.
    const bool is_cookie = ascii::iequals(field.name, "set-cookie");
    if (passes(i) && !own && !is_cookie) out.add(upstream, i);
    // The operator of the server looks for its own name of the request, if it has one.
    const bool is_id =
        ascii::iequals(field.name, "x-request-id") || ascii::iequals(field.name, "request-id");
    if (is_id && own != field.value) out.add(kUpstreamId, field.value);
  }
  for (size_t i = 0; i < ours.size(); ++i) out.add(ours, i);
  return out;
}

/// The last bytes that were written, enough to recognise the end of an event.
class Tail {
 public:
  void add(std::string_view bytes) {
    bytes_.append(bytes.substr(bytes.size() - std::min<size_t>(bytes.size(), 4)));
    if (bytes_.size() > 4) bytes_.erase(0, bytes_.size() - 4);
  }
  std::string_view view() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr std::string_view kStillHere = ": the answer is not complete yet\n\n";

/// Wakes a reply that is silent for too long.
class Silence {
 public:
  Silence(http::asio::io_context& loop, upstream::UpstreamReply& answer,
          std::chrono::milliseconds limit)
      : limit_(limit), deadline_(loop, [this, &answer] {
          passed_ = true;
          answer.nudge();
        }) {}
  void begin() {
    passed_ = false;
    deadline_.set(limit_);
  }
  /// Returns true if the limit has passed.
  bool end() {
    deadline_.clear();
    return passed_;
  }

 private:
  const std::chrono::milliseconds limit_;
  bool passed_ = false;
  http::Deadline deadline_;
};

}  // namespace

bool is_event_stream(const http::Headers& headers) {
  const auto type = headers.find("content-type");
  const auto encoding = headers.find("content-encoding");
  return type && ascii::iequals(type->substr(0, 17), "text/event-stream") &&
         (!encoding || ascii::iequals(*encoding, "identity"));
}

bool at_event_boundary(std::string_view tail) {
  return tail.empty() || tail.ends_with("\n\n") || tail.ends_with("\r\n\r\n") ||
         tail.ends_with("\r\r");
}

Error for_client(Error error) {
  constexpr std::string_view kBackend = "backend \"", kServer = "the model's server";
  std::string& message = error.message;
  const size_t at = message.find(kBackend);
  if (at == std::string::npos) return error;
  const size_t end = std::min(message.find('"', at + kBackend.size()), message.size() - 1);
  message.replace(at, end + 1 - at, kServer);
  for (size_t open = at; (open = message.find(" \"", open)) != std::string::npos;) {
    const size_t close = std::min(message.find('"', open + 2), message.size() - 1);
    message.erase(open, close + 1 - open);
  }
  return error;
}

bool accepts_trailers(const http::Headers& client) {
  const auto te = client.find("te");
  return te && te->find("trailers") != std::string_view::npos;
}

http::Task<> break_stream(http::Reply& reply, std::string_view sent, const std::string& error_body,
                          const BrokenStream* broken) {
  const std::string events =
      broken != nullptr ? (*broken)(error_body) : fmt::format("data: {}\n\n", error_body);
  const std::string event = fmt::format("{}{}", at_event_boundary(sent) ? "" : "\n\n", events);
  co_await reply.write(event, false);
  reply.abandon();
}

http::Task<Result<void>> relay(upstream::UpstreamReply& answer, http::Reply& reply,
                               const http::Headers& fields, const BrokenStream* broken,
                               std::chrono::milliseconds keep_alive) {
  const http::Response& head = answer.head();
  const bool events = is_event_stream(head.headers) && (reply.started() || !head.content_length);
  if (!reply.started()) {
    const http::Headers merged = reply_fields(head.headers, fields);
    reply.start(head.status, merged, head.content_length);
  }
  const http::Executor executor = co_await http::asio::this_coro::executor;
  std::optional<Silence> silence;
  if (events && keep_alive.count() > 0)
    silence.emplace(http::loop_of(executor), answer, keep_alive);
  Tail tail;
  for (;;) {
    if (!answer.ready()) {
      const bool flushed = co_await reply.flush();
      if (!flushed) break;
    }
    if (silence) silence->begin();
    Result<upstream::Piece> piece = co_await answer.next();
    const bool was_silent = silence && silence->end();
    if (!piece) {
      if (piece.error().code == Code::kCancelled || !events) {
        reply.abandon();
      } else {
        const std::string body = http::error_body(for_client(piece.error()));
        co_await break_stream(reply, tail.view(), body, broken);
      }
      co_return tl::unexpected<Error>(std::move(piece).error());
    }
    const bool is_idle = was_silent && piece->bytes.empty() && at_event_boundary(tail.view());
    if (is_idle && !piece->last) piece->bytes = kStillHere;
    const bool written = co_await reply.write(piece->bytes, piece->last);
    if (!written) break;
    if (piece->last) co_return Result<void>{};
    if (events) tail.add(piece->bytes);
  }
  // A proxy that takes a reply in one piece may refuse it; the client then got an error.
  if (reply.finished() && reply.status() == 429)
    co_return fail(Code::kOverloaded, "there was no room for the reply");
  if (reply.finished()) co_return fail(Code::kUpstream, "the reply is too long for one piece");
  co_return fail(Code::kCancelled, "the client has gone");
}

}  // namespace signalbox::gateway
