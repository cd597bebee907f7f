// Only find() waits for the server. A failed write is retried until it succeeds or the answer has
// expired; meanwhile, reads continue as the circuit breaker permits.

#include "router/cache/remote_store.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace signalbox::cache {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFollowWait{1000};
constexpr milliseconds kRetryPause{500};
constexpr milliseconds kLastWrites{1000};

template <class T>
const Error* error_of(const Result<T>& result) {
  return result ? nullptr : &result.error();
}

}  // namespace

RemoteStore::RemoteStore(std::unique_ptr<Remote> remote, const MemoryLimits& limits)
    : remote_(std::move(remote)),
      heads_(limits),
      writer_([this] { write_all(); }),
      follower_([this] { follow_all(); }) {}

RemoteStore::~RemoteStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_ = TimePoint::clock::now();
  }
  woken_.notify_all();
  writer_.join();
  follower_.join();
}

// Records the result of a call; nullptr means success. Logs once when the server becomes
// unavailable or available, and at once an error that will not go away by itself.
bool RemoteStore::record_result(const Error* error) {
  const bool is_config_error = error != nullptr && error->code == Code::kInvalid;
  const bool changes = breaker_.record(error == nullptr, TimePoint::clock::now());
  if (is_config_error) {
    if (!config_error_logged_.exchange(true))
      log::error("cache", "the cache is not used: {}", error->message);
  } else if (error == nullptr) {
    if (config_error_logged_.exchange(false) || changes)
      log::info("cache", "{} responds again", remote_->name());
  } else if (changes) {
    log::warn("cache", "the cache is not used for the moment: {}", error->message);
  }
  return error == nullptr;
}

Result<std::shared_ptr<const Entry>> RemoteStore::find(std::string_view id, TimePoint now) {
  if (auto waiting = unwritten(id); waiting != nullptr && waiting->expires > now) return waiting;
  if (!breaker_.allows(now))
    return fail(Code::kIo, "{} does not respond and is not used for a moment", remote_->name());
  const auto head = heads_.find(id, now);
  const auto bytes = remote_->get(id);
  record_result(error_of(bytes));
  if (!bytes) return tl::unexpected<Error>(bytes.error());
  if (!*bytes) {
    // Keep a head that the follower has replaced meanwhile.
    if (head && *head != nullptr) heads_.forget(*head);
    return std::shared_ptr<const Entry>();
  }
  SIGNALBOX_TRY(Entry entry, from_bytes(**bytes, clocks_now()));
  if (entry.id != id)
    return fail(Code::kCorrupt, "{} returned the answer of another id", remote_->name());
  if (entry.expires <= now) return std::shared_ptr<const Entry>();
  return std::make_shared<const Entry>(std::move(entry));
}

Result<std::vector<Near>> RemoteStore::nearest(std::string_view partition,
                                               std::span<const float> vector, double similarity,
                                               size_t most, TimePoint now) {
  return heads_.nearest(partition, vector, similarity, most, now);
}

Result<void> RemoteStore::put(Entry entry, TimePoint now) {
  auto whole = std::make_shared<const Entry>(entry);
  entry.reply.clear();
  // An entry whose head finds no room is still found by its id.
  static_cast<void>(heads_.put(std::move(entry), now));
  return enqueue({whole->id, whole});
}

Result<void> RemoteStore::enqueue(Write write) {
  {
    const std::lock_guard lock(mutex_);
    const uint64_t bytes = write.entry == nullptr ? 0 : entry_bytes(*write.entry);
    if (writes_.size() >= kQueueMax || bytes_ + bytes > kQueueBytesMax)
      return fail(Code::kOverloaded, "too many writes to {} are waiting", remote_->name());
    bytes_ += bytes;
    if (write.entry != nullptr) {
      unwritten_[write.id] = write.entry;
    } else {
      unwritten_.erase(write.id);
    }
    writes_.push_back(std::move(write));
  }
  woken_.notify_all();
  return {};
}

Result<uint64_t> RemoteStore::remove(std::string_view id) {
  SIGNALBOX_TRY(const uint64_t known, heads_.remove(id));
  SIGNALBOX_TRY_VOID(enqueue({std::string(id), nullptr}));
  return known;
}

Result<uint64_t> RemoteStore::remove_all(const Filter& filter, TimePoint now) {
  SIGNALBOX_TRY(const auto matching, heads_.list(filter, SIZE_MAX, now));
  uint64_t removed = 0;
  for (const auto& entry : matching) {
    SIGNALBOX_TRY(const uint64_t one, remove(entry->id));
    removed += one;
  }
  return removed;
}

Result<std::vector<std::shared_ptr<const Entry>>> RemoteStore::list(const Filter& filter,
                                                                    size_t most, TimePoint now) {
  return heads_.list(filter, most, now);
}

StoreFigures RemoteStore::figures() const {
  return heads_.figures();
}

std::shared_ptr<const Entry> RemoteStore::unwritten(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = unwritten_.find(id);
  return found == unwritten_.end() ? nullptr : found->second;
}

void RemoteStore::forget_unwritten(const Write& write) {
  const std::lock_guard lock(mutex_);
  const auto found = unwritten_.find(write.id);
  if (found != unwritten_.end() && found->second == write.entry) unwritten_.erase(found);
}

// Returns false once the store is being destroyed.
bool RemoteStore::sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !woken_.wait_for(lock, time, [this] { return stopping_; });
}

Result<void> RemoteStore::write(const Write& write, TimePoint now) {
  if (write.entry == nullptr) return remote_->remove({&write.id, 1});
  const Clocks clocks = clocks_now();
  Entry head = *write.entry;
  head.reply.clear();
  return remote_->put(write.id, to_bytes(*write.entry, clocks), to_bytes(head, clocks),
                      std::chrono::duration_cast<milliseconds>(write.entry->expires - now));
}

void RemoteStore::write_all() {
  for (;;) {
    Write next;
    {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [this] { return stopping_ || !writes_.empty(); });
      if (writes_.empty() || (stopping_ && TimePoint::clock::now() - stopped_ > kLastWrites))
        return;
      next = std::move(writes_.front());
      writes_.pop_front();
      if (next.entry != nullptr) bytes_ -= entry_bytes(*next.entry);
    }
    for (TimePoint now = TimePoint::clock::now();
         next.entry == nullptr || next.entry->expires > now; now = TimePoint::clock::now()) {
      const auto written = write(next, now);
      if (record_result(error_of(written))) break;
      if (!sleep(kRetryPause)) return;
    }
    forget_unwritten(next);
  }
}

void RemoteStore::apply_change(const RemoteChange& change) {
  const Clocks now = clocks_now();
  if (change.head.empty()) {
    static_cast<void>(heads_.remove(change.id));
    return;
  }
  auto head = from_bytes(change.head, now);
  // Ignores entries written by another version and expired entries.
  if (!head || head->id != change.id || head->expires <= now.steady) return;
  const auto known = heads_.find(head->id, now.steady);
  if (known && *known != nullptr && (*known)->question == head->question &&
      (*known)->expires + kFollowWait >= head->expires)
    return;
  static_cast<void>(heads_.put(*std::move(head), now.steady));
}

void RemoteStore::follow_all() {
  std::string cursor;
  while (sleep(milliseconds(0))) {
    const auto changes = remote_->follow(cursor, kFollowWait);
    if (!record_result(error_of(changes))) {
      if (!sleep(kRetryPause)) return;
      continue;
    }
    for (const RemoteChange& change : *changes) apply_change(change);
  }
}

}  // namespace signalbox::cache
