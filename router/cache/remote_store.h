#pragma once
// Stores answers on a server that several routers share, with an index of their heads in each
// router.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "router/cache/memory_store.h"
#include "router/cache/remote.h"
#include "router/upstream/breaker.h"

namespace signalbox::cache {

/// find() queries the server and blocks as long as Remote::get() does; all other calls use only
/// memory. Writes and deletions go to the server in order, on a thread of their own. A write that
/// finds the queue full is dropped with kOverloaded.
class RemoteStore final : public Store {
 public:
  static constexpr size_t kQueueMax = 4096;                       // writes
  static constexpr uint64_t kQueueBytesMax = uint64_t{64} << 20;  // bytes of the queued entries

  /// `limits` apply to the heads in memory. An answer whose head has no room there is found by its
  /// id only.
  RemoteStore(std::unique_ptr<Remote> remote, const MemoryLimits& limits);
  /// Gives queued writes one second to finish.
  ~RemoteStore() override;

  Result<std::shared_ptr<const Entry>> find(std::string_view id, TimePoint now) override;
  Result<std::vector<Near>> nearest(std::string_view partition, std::span<const float> vector,
                                    double similarity, size_t most, TimePoint now) override;
  Result<void> put(Entry entry, TimePoint now) override;
  Result<uint64_t> remove(std::string_view id) override;
  Result<uint64_t> remove_all(const Filter& filter, TimePoint now) override;
  Result<std::vector<std::shared_ptr<const Entry>>> list(const Filter& filter, size_t most,
                                                         TimePoint now) override;
  StoreFigures figures() const override;
  void set_limits(const MemoryLimits& limits) override { heads_.set_limits(limits); }
  bool is_near() const override { return false; }

 private:
  struct Write {
    std::string id;
    std::shared_ptr<const Entry> entry;  // nullptr: delete it
  };

  Result<void> enqueue(Write write);
  std::shared_ptr<const Entry> unwritten(std::string_view id);
  void forget_unwritten(const Write& write);
  Result<void> write(const Write& write, TimePoint now);
  void write_all();
  void follow_all();
  void apply_change(const RemoteChange& change);
  bool record_result(const Error* error);
  bool sleep(std::chrono::milliseconds time);

  const std::unique_ptr<Remote> remote_;
  MemoryStore heads_;
  upstream::Breaker breaker_;
  std::atomic<bool> config_error_logged_{false};

  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Write> writes_;
  uint64_t bytes_ = 0;  // of the entries in writes_
  std::map<std::string, std::shared_ptr<const Entry>, std::less<>> unwritten_;
  bool stopping_ = false;
  TimePoint stopped_ = {};

  std::thread writer_, follower_;  // last, because they use the members above
};

}  // namespace signalbox::cache
