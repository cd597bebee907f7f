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
  /// The bytes that contexts have added to one request. They count as bytes of its body until the
  /// request is answered, so that a small request cannot become a large one unnoticed.
  class Held {
   public:
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      if (from_ != nullptr) *from_ -= bytes_;
    }

   private:
    friend class Contexts;
    std::atomic<uint64_t>* from_ = nullptr;
    uint64_t bytes_ = 0;
  };

  /// Called once, before the first request. Errors: kIo naming the directory.
  Result<void> open(const config::Config& config);
  /// Takes up new limits; the directory stays.
  void configure(const config::ContextStore& config);
  /// Null if contexts are not open yet or switched off.
  contexts::Store* store() const { return opened_; }

  /// Reads the contexts and inserts them on the pool. Precondition:
  /// contexts::has_refs(chat.document). Errors: kInvalid with path and id for a context that the
  /// client has not stored; kUpstream with both if the shared store does not answer; kTooLarge over
  /// http.body_bytes_max; kOverloaded, kCancelled, kDeadline, kIo.
  http::Task<Result<void>> expand(http::Exchange exchange, request::ChatRequest& chat, Held& held,
                                  const config::Config& config, http::ThreadPool& pool);

 private:
  Result<void> expand_now(contexts::Store& from, const std::string& tenant,
                          request::ChatRequest& chat, Held& held, const config::Config& config);

  std::atomic<uint64_t> bytes_held_{0};
  std::unique_ptr<contexts::Store> store_;
  std::unique_ptr<contexts::Pager> pager_;
  std::unique_ptr<contexts::Follower> follower_;  // null: no store is shared
  std::atomic<contexts::Store*> opened_{nullptr};
};

}  // namespace signalbox::gateway
