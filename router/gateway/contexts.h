#pragma once
// Stored contexts as requests use them: opened once for the process, with limits that a
// configuration may change, and inserted before the messages of requests that refer to them.

#include <atomic>
#include <memory>

#include "router/config/config.h"
#include "router/contexts/pager.h"
#include "router/contexts/store.h"
#include "router/http/server.h"
#include "router/http/thread_pool.h"
#include "router/request/chat_request.h"

namespace signalbox::gateway {

/// Seconds since 1970, the clock of stored contexts.
int64_t wall_seconds();

/// Thread-safe. Outlives the requests.
class Contexts {
 public:
  /// Called once, before the first request. Errors: kIo naming the directory.
  Result<void> open(const config::Config& config);
  /// Takes up new limits; the directory stays.
  void configure(const config::ContextStore& config);
  /// Null if contexts are not open yet or switched off.
  contexts::Store* store() const { return opened_; }

  /// Reads the contexts and inserts them on the pool, after it has reserved memory for them, so
  /// that a small request cannot become a large one unnoticed. Waits for room like reserve().
  /// Precondition: contexts::has_refs(chat.document). Errors: kInvalid with path and id for a
  /// context that the client has not stored; kUpstream with both if the shared store does not
  /// answer; kTooLarge over http.body_bytes_max; kOverloaded, kCancelled, kDeadline, kIo.
  http::Task<Result<void>> expand(http::Exchange exchange, request::ChatRequest& chat,
                                  const config::Config& config, http::ThreadPool& pool);

 private:
  std::unique_ptr<contexts::Store> store_;
  std::unique_ptr<contexts::Pager> pager_;
  std::unique_ptr<contexts::Follower> follower_;  // null: no store is shared
  std::atomic<contexts::Store*> opened_{nullptr};
};

}  // namespace signalbox::gateway
