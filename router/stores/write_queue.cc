// If a record fails while the server works, the record itself is at fault. It is tried a few times
// and then given up, so that it does not stop others. `done` is called without the lock.

#include "router/stores/write_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;

// The first thread writes only records that replies wait for, so that other large records do not
// delay these replies.
constexpr size_t kThreads = 4;
constexpr int kAttemptsMax = 3;
constexpr size_t kLargeBytes = size_t{256} << 10;
constexpr milliseconds kTryAgain{200};

void call(const std::function<void()>& done) {
  if (done) done();
}

/// Redis reports a protocol error, and closes the connection, if a value is longer than its own
/// limit. It reports WRONGTYPE if another program has written a value of another type under the
/// name of the record.
bool is_refused_for_good(const Error& error) {
  return error.message.find("Protocol error") != std::string::npos ||
         error.message.find("WRONGTYPE ") != std::string::npos;
}

}  // namespace

WriteQueue::WriteQueue(std::string server, size_t bytes_max, const Words& words)
    : server_(std::move(server)), bytes_max_(bytes_max), words_(words) {
  for (size_t i = 0; i < kThreads; ++i)
    threads_.emplace_back([this, i] { write_in_turns(i == 0); });
}

WriteQueue::~WriteQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  idle_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WriteQueue::add(Item item) {
  std::vector<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    bytes_ += item.bytes;
    if (state_ == State::kWorking) {
      Items& to = item.done ? awaited_ : backlog_;
      to.push_back(std::move(item));
    } else {
      done.push_back(release(item));
      failed_.push_back(std::move(item));
    }
    drop_excess(done);
  }
  wake_.notify_all();
  for (const auto& each : done) call(each);
}

void WriteQueue::refuse(Item item, std::string_view why) {
  log::warn(words_.area, "{}: {}", words_.section, why);
  {
    const std::lock_guard lock(mutex_);
    ++stats_.refused;
  }
  call(item.done);
}

// Precondition: the lock is held. Drops the oldest.
void WriteQueue::drop_excess(std::vector<std::function<void()>>& done) {
  while (bytes_ > bytes_max_) {
    Items& from = !failed_.empty() ? failed_ : !backlog_.empty() ? backlog_ : awaited_;
    bytes_ -= from.front().bytes;
    done.push_back(release(from.front()));
    from.pop_front();
    ++stats_.dropped;
    if (!std::exchange(overflow_logged_, true)) {
      log::warn(words_.area, "{}: more than {} bytes wait for {}; the oldest {}", words_.section,
                bytes_max_, server_, words_.unwritten);
    }
  }
}

void WriteQueue::forget(const std::string& id) {
  std::vector<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    for (Items* items : {&awaited_, &backlog_, &failed_}) {
      std::erase_if(*items, [&](Item& item) {
        if (item.id != id) return false;
        bytes_ -= item.bytes;
        done.push_back(release(item));
        return true;
      });
    }
  }
  idle_.notify_all();
  for (const auto& each : done) call(each);
}

void WriteQueue::set_working() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(away_logged_, false)) log::info(words_.area, "{} works again", server_);
    if (state_ == State::kWorking && failed_.empty()) return;
    if (state_ != State::kAway && Clock::now() < retry_at_) return;
    retry_at_ = Clock::now() + kTryAgain;
    state_ = State::kWorking;
    std::move(backlog_.begin(), backlog_.end(), std::back_inserter(failed_));
    backlog_ = std::exchange(failed_, {});
  }
  wake_.notify_all();
}

void WriteQueue::set_refusing(const Error& why) {
  const std::lock_guard lock(mutex_);
  refuse_for_now(why);
}

void WriteQueue::set_accepting() {
  const std::lock_guard lock(mutex_);
  retry_failed();
}

// Precondition: the lock is held.
void WriteQueue::retry_failed() {
  if (std::exchange(refusal_logged_, false))
    log::info(words_.area, "{} takes changes again", server_);
}

// Precondition: the lock is held.
void WriteQueue::refuse_for_now(const Error& why) {
  if (state_ == State::kWorking) {
    state_ = State::kRefusing;
    retry_at_ = Clock::now() + kTryAgain;
  }
  if (std::exchange(refusal_logged_, true)) return;
  log::warn(words_.area, "{}: {}; until this is over, new {} {}", words_.section, why.message,
            words_.records, words_.meanwhile);
}

void WriteQueue::set_away(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kAway;
    for (Items* items : {&backlog_, &failed_}) {
      for (Item& item : *items) {
        if (!item.fills_connection) item.attempts = 0;  // it was not at fault
      }
    }
    if (!std::exchange(away_logged_, true)) {
      log::warn(words_.area, "{}: {}; until this is over, new {} {}", words_.section, why.message,
                words_.records, words_.meanwhile);
    }
  }
  stop_waiting();
}

bool WriteQueue::is_away() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::kAway;
}

bool WriteQueue::has_room(size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return bytes_ + bytes <= bytes_max_ / 2;
}

// Lets the replies go on, because they need not wait for a server that accepts no records.
void WriteQueue::stop_waiting() {
  std::vector<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kWorking) return;  // the server works again
    for (Item& item : awaited_) {
      done.push_back(release(item));
      backlog_.push_back(std::move(item));
    }
    awaited_.clear();
  }
  for (const auto& each : done) call(each);
}

// Precondition: the lock is held.
bool WriteQueue::has_work(bool only_awaited) {
  // Records of replies that have stopped waiting must not delay those of replies that still wait.
  while (!awaited_.empty() && Clock::now() > awaited_.front().waits_until) {
    ++stats_.late;
    awaited_.front().waits_until = Clock::time_point::max();
    backlog_.push_back(std::move(awaited_.front()));
    awaited_.pop_front();
  }
  return state_ == State::kWorking && !(awaited_.empty() && (only_awaited || backlog_.empty()));
}

// Precondition: the lock is held, and there is an item.
WriteQueue::Item WriteQueue::take() {
  Items& from = awaited_.empty() ? backlog_ : awaited_;
  Item item = std::move(from.front());
  from.pop_front();
  bytes_ -= item.bytes;
  ++writing_;
  return item;
}

// Precondition: the lock is held.
std::function<void()> WriteQueue::release(Item& item) {
  if (item.done && Clock::now() > item.waits_until) ++stats_.late;
  return std::exchange(item.done, nullptr);
}

void WriteQueue::write_in_turns(bool only_awaited) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || has_work(only_awaited); });
    if (stopping_) return;
    Item item = take();
    if (Clock::now() > item.useful_until) {
      --writing_;
      ++stats_.dropped;
      const std::function<void()> done = release(item);
      lock.unlock();
      call(done);
      idle_.notify_all();
      lock.lock();
      continue;
    }
    lock.unlock();
    const Result<void> written = item.write();
    lock.lock();
    --writing_;
    const std::function<void()> done = settle(std::move(item), written);
    const bool refuses = state_ == State::kRefusing;
    lock.unlock();
    call(done);
    if (refuses) stop_waiting();
    idle_.notify_all();
    lock.lock();
  }
}

// Precondition: the lock is held.
std::function<void()> WriteQueue::settle(Item item, const Result<void>& written) {
  std::function<void()> done = release(item);
  if (awaited_.empty() && backlog_.empty() && failed_.empty()) overflow_logged_ = false;
  if (written) {
    ++stats_.written;
    retry_failed();
    return done;
  }
  const Error& error = written.error();
  const bool is_refusal = error.code == Code::kUpstream && !is_refused_for_good(error);
  if (is_refusal) refuse_for_now(error);
  item.fills_connection = error.code == Code::kDeadline && item.bytes >= kLargeBytes;
  // A record that fills the connection may be the reason why the server seems to be away.
  const bool is_at_fault = !is_refusal && (item.fills_connection || state_ != State::kAway);
  if (is_at_fault && ++item.attempts == kAttemptsMax) {
    ++stats_.refused;
    log::warn(words_.area, "{}: of the {}, one of {} bytes is not written: {}", words_.section,
              words_.records, item.bytes, error.message);
    return done;
  }
  bytes_ += item.bytes;
  failed_.push_back(std::move(item));
  return done;
}

void WriteQueue::expect(size_t count) {
  {
    const std::lock_guard lock(mutex_);
    expected_ = count;
  }
  idle_.notify_all();
}

// Precondition: the lock is held.
size_t WriteQueue::count_unwritten() const {
  return awaited_.size() + backlog_.size() + failed_.size() + writing_ + expected_;
}

size_t WriteQueue::drain(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  idle_.wait_until(lock, until, [&] { return count_unwritten() == 0; });
  if (const size_t unwritten = count_unwritten() - expected_; unwritten != 0) {
    log::warn(words_.area, "{}: {} that were not written to {} are lost: {}", words_.section,
              words_.records, server_, unwritten);
  }
  if (expected_ != 0) {
    log::warn(words_.area,
              "{}: {} may have lost its data, and there was no time to restore these {}: {}",
              words_.section, server_, words_.records, expected_);
  }
  return count_unwritten();
}

WriteQueue::Stats WriteQueue::stats() const {
  const std::lock_guard lock(mutex_);
  auto out = stats_;
  out.works = state_ == State::kWorking && !refusal_logged_;
  out.waiting = count_unwritten();
  return out;
}

}  // namespace signalbox::stores
