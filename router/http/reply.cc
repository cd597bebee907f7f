// The header and the bytes that follow it are sent in one gather write.

#include "router/http/reply.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>

#include "base/error.h"

namespace signalbox::http {
namespace {

/// The Date field (RFC 9110 section 6.6.1), formatted once a second.
std::string_view date_field() {
  thread_local std::time_t made_for = 0;
  thread_local char text[48];
  const std::time_t now = std::time(nullptr);
  if (now != made_for) {
    made_for = now;
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
  }
  return text;
}

}  // namespace

SocketReply::SocketReply(Stream& stream, const Request& request, bool keep_alive)
    : stream_(stream),
      http11_(request.version >= 11),
      head_only_(request.method == "HEAD"),
      keep_alive_(keep_alive) {}

bool SocketReply::has_body() const {
  return !head_only_ && status_ != 204 && status_ != 304;
}

void SocketReply::write_head(int status, const Headers& fields, std::optional<uint64_t> length) {
  SIGNALBOX_CHECK(state_ == State::kNothing);
  status_ = status;
  remaining_ = length;
  chunked_ = !length && http11_ && has_body();
  if (!length && !chunked_ && has_body()) keep_alive_ = false;
  head_.reserve(fields.wire().size() + 192);
  fmt::format_to(std::back_inserter(head_), "HTTP/1.1 {} {}\r\n", status, status_text(status));
  head_.append(fields.wire());
  if (chunked_) {
    head_.append("Transfer-Encoding: chunked\r\n");
  } else if (length && status != 204 && status != 304) {
    fmt::format_to(std::back_inserter(head_), "Content-Length: {}\r\n", *length);
  }
  if (!keep_alive_) {
    head_.append("Connection: close\r\n");
  } else if (!http11_) {
    head_.append("Connection: keep-alive\r\n");
  }
  if (!fields.find("date")) head_.append(date_field());
  head_.append("\r\n");
}

Task<bool> SocketReply::send(int status, const Headers& fields, std::string_view body) {
  write_head(status, fields, body.size());
  state_ = State::kFinished;
  const std::string_view sent = has_body() ? body : std::string_view{};
  const ErrorCode error = co_await stream_.write_all(head_, sent);
  if (error) state_ = State::kBroken;
  co_return !error;
}

void SocketReply::start(int status, const Headers& fields, std::optional<uint64_t> length) {
  write_head(status, fields, length);
  state_ = State::kPending;
}

Task<bool> SocketReply::flush() {
  if (state_ != State::kPending) co_return !broken();
  state_ = State::kStreaming;
  const ErrorCode error = co_await stream_.write_all(head_);
  head_.clear();
  if (error) state_ = State::kBroken;
  co_return !error;
}

Task<bool> SocketReply::write(std::string_view bytes, bool last) {
  if (broken()) co_return false;
  SIGNALBOX_CHECK(state_ == State::kPending || state_ == State::kStreaming);
  if (remaining_ && has_body()) {
    SIGNALBOX_CHECK(bytes.size() <= *remaining_);
    *remaining_ -= bytes.size();
    SIGNALBOX_CHECK(!last || *remaining_ == 0);
  }
  state_ = last ? State::kFinished : State::kStreaming;
  std::string_view tail;
  std::string trailer;
  if (chunked_) {
    if (!bytes.empty()) fmt::format_to(std::back_inserter(head_), "{:x}\r\n", bytes.size());
    if (!bytes.empty()) tail = last ? "\r\n0\r\n\r\n" : "\r\n";
    if (bytes.empty() && last) tail = "0\r\n\r\n";
    if (last && trailers_.size() > 0) {
      trailer.append(tail.substr(0, tail.size() - 2)).append(trailers_.wire()).append("\r\n");
      tail = trailer;
    }
  }
  const std::string_view body = has_body() ? bytes : std::string_view{};
  const ErrorCode error = co_await stream_.write_all(head_, body, tail);
  head_.clear();
  if (error) state_ = State::kBroken;
  co_return !error;
}

void SocketReply::add_trailer(std::string_view name, std::string_view value) {
  trailers_.add(name, value);
}

void SocketReply::abandon() {
  keep_alive_ = false;
  if (!broken()) state_ = State::kAbandoned;
}

}  // namespace signalbox::http
