#pragma once
// The first stage: the bytes of a request become a chat completion request.

#include <chrono>
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

  /// The memory that is held until the client has its reply.
  size_t memory_bytes() const;
};

/// Changes the share of the request to `bytes`, before the memory is taken. Waits for room at most
/// as long as a body may take to arrive, which is `patience`. Errors: kOverloaded if there was
/// none, kTooLarge if there never will be, and those of the interrupt.
http::Task<Result<void>> reserve(http::MemoryShare& memory, http::Interrupt& interrupt,
                                 std::chrono::milliseconds patience, size_t bytes);
/// The same for the share of the request itself.
http::Task<Result<void>> reserve(const RequestScope& scope, size_t bytes);

/// The room for work on a pool, which must not wait there. Work that lacks room ends early and is
/// done again once there is room.
class Room {
 public:
  /// `memory` is the share of the request.
  explicit Room(http::MemoryShare& memory) : memory_(memory) {}
  /// Raises the share to `bytes` if it is smaller. An error ends the work.
  Result<void> raise(size_t bytes);
  bool is_lacking() const { return lacking_ > 0; }
  /// Waits like reserve() for the room that the work lacked. Meanwhile the request holds `kept`.
  http::Task<Result<void>> wait(size_t kept, http::Interrupt& interrupt,
                                std::chrono::milliseconds patience);

 private:
  http::MemoryShare& memory_;
  size_t lacking_ = 0;  // the size of the share that the work needs and did not get; 0: none
};

/// The Content-Encoding of the body if we cannot read it.
std::optional<std::string_view> unsupported_encoding(const http::Headers& headers);

/// Runs work that takes as long as the request is large: here, or on the pool for reading if it
/// would keep the loop's other requests waiting. Errors: kOverloaded, and those of the interrupt.
http::Task<Result<void>> run_by_size(const RequestScope& scope, size_t bytes,
                                     std::function<void()> work);

/// Parses the body, translates it from the client's API, and inserts the contexts that it refers
/// to. Takes the body out of the request. Reserves what the request holds and, for planning, its
/// size once more. Errors: those of reserve(), ChatRequest::parse(), Dialect::read() and
/// Contexts::expand().
http::Task<Result<ParsedRequest>> read_request(const RequestScope& scope);

}  // namespace signalbox::gateway
