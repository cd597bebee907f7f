#pragma once
// The contexts of the process, as requests use them: opened once, with limits that a configuration
// may change, and put in front of the messages of who refers to them.

#include <atomic>
#include <memory>

#include "router/config/config.h"
#include "router/contexts/pager.h"
#include "router/contexts/store.h"
#include "router/gateway/thread_pool.h"
#include "router/http/server.h"
#include "router/request/chat_request.h"

namespace signalbox::gateway {

/// The time that stores are told, since 1970.
int64_t wall_seconds();

/// Thread-safe. Outlives the requests.
class Contexts {
 public:
  /// Bytes that contexts have added to one request, given back when it has been answered: a small
  /// request must not become a large one without being counted like one.
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

  /// Once, before requests come. Errors: kIo naming the directory.
  Result<void> open(const config::Config& config);
  /// From now on; the directory stays.
  void configure(const config::ContextStore& config);
  /// Null: not open yet, or switched off.
  contexts::Store* store() const { return opened_; }

  /// Precondition: context::has_refs(chat.document). Reads and splices on the pool. Errors:
  /// kInvalid with the path and the id for one that the client has not stored, kUpstream with both
  /// for one that may be where routers share them and nobody answers, kTooLarge over
  /// http.body_bytes_max, kOverloaded, kCancelled, kDeadline, kIo.
  http::Task<Result<void>> expand(http::Exchange exchange, request::ChatRequest& chat, Held& held,
                                  const config::Config& config, ThreadPool& pool);

 private:
  Result<void> expand_now(contexts::Store& from, const std::string& tenant,
                          request::ChatRequest& chat, Held& held, const config::Config& config);

  std::atomic<uint64_t> bytes_held_{0};
  std::unique_ptr<contexts::Store> store_;
  std::unique_ptr<contexts::Pager> pager_;
  std::unique_ptr<contexts::Follower> follower_;  // null: nothing is shared
  std::atomic<contexts::Store*> opened_{nullptr};
};

}  // namespace signalbox::gateway
