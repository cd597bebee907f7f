// Tests in which order records are written, and when the queue gives one up.

#include "router/stores/write_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace signalbox::stores {
namespace {

using Clock = WriteQueue::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongest{30};  // for events, which come much earlier

void until(const std::function<bool()>& holds) {
  const auto end = Clock::now() + kLongest;
  while (!holds()) {
    ASSERT_LT(Clock::now(), end) << "it did not happen";
    std::this_thread::sleep_for(milliseconds(1));
  }
}

WriteQueue::Item item_of(std::string id, size_t bytes = 10) {
  return {.id = std::move(id), .bytes = bytes, .write = [] { return Result<void>(); }};
}

WriteQueue::Item awaited(std::string id, Clock::time_point waits_until = Clock::now() + kLongest) {
  WriteQueue::Item out = item_of(std::move(id));
  out.done = [] {};
  out.waits_until = waits_until;
  return out;
}

constexpr WriteQueue::Words kWords{"test", "section", "records", "wait", "are lost"};

/// A queue whose writes take until they are allowed to end.
class SlowWrites {
 public:
  ~SlowWrites() { allow(1000); }

  void add(WriteQueue::Item item) {
    item.write = [this, id = item.id] { return write(id); };
    queue.add(std::move(item));
  }
  void allow(int count) { may_end_.release(count); }
  /// Returns the ids, in the order in which `count` writes have begun.
  std::vector<std::string> begun(size_t count) {
    until([&] {
      const std::lock_guard lock(mutex_);
      return begun_.size() >= count;
    });
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  Result<void> write(const std::string& id) {
    {
      const std::lock_guard lock(mutex_);
      begun_.push_back(id);
    }
    may_end_.acquire();
    return {};
  }

  std::mutex mutex_;
  std::vector<std::string> begun_;
  std::counting_semaphore<> may_end_{0};

 public:
  WriteQueue queue{"server", 1 << 20, kWords};
};

TEST(WriteQueue, writes_records_that_replies_wait_for_before_the_backlog) {
  SlowWrites writes;
  for (int i = 0; i < 8; ++i) writes.add(item_of("backlog"));
  writes.begun(3);
  writes.add(awaited("resp_1"));
  EXPECT_EQ(writes.begun(4).back(), "resp_1") << "a thread is kept for it";
  writes.add(awaited("resp_late", Clock::now() - seconds(1)));
  writes.add(awaited("resp_2"));
  writes.allow(1);
  EXPECT_EQ(writes.begun(5).back(), "resp_2");
  writes.allow(100);
  EXPECT_EQ(writes.queue.drain(Clock::now() + kLongest), 0U);
  EXPECT_EQ(writes.queue.stats().late, 1U);
  EXPECT_EQ(writes.queue.stats().written, 11U);
}

TEST(WriteQueue, replies_do_not_wait_for_a_server_that_goes_away) {
  SlowWrites writes;
  for (int i = 0; i < 4; ++i) writes.add(awaited("resp"));
  writes.begun(4);
  bool is_done = false;
  WriteQueue::Item waiting = awaited("resp");
  waiting.done = [&is_done] { is_done = true; };
  writes.add(std::move(waiting));
  writes.queue.set_away(Error{Code::kIo, "away"});
  EXPECT_TRUE(is_done);
  EXPECT_EQ(writes.queue.stats().late, 0U);
}

/// Writes one record that fails each time, while the server goes away and returns. Returns the
/// attempts, `rounds` at most.
int attempts(Code code, size_t bytes, bool server_fails_first, int rounds = 10) {
  std::atomic<int> begun = 0;
  const Error away{Code::kIo, "away"};
  WriteQueue queue("server", bytes * 3 / 2, kWords);
  WriteQueue::Item item = item_of("resp", bytes);
  item.write = [&]() -> Result<void> {
    if (server_fails_first) queue.set_away(away);
    ++begun;
    return fail(code, "the write failed");
  };
  queue.add(std::move(item));
  for (int round = 1; round <= rounds; ++round) {
    until([&] { return begun == round; });
    // It is back in the queue, or given up.
    until([&] { return !queue.has_room(0) || queue.stats().waiting == 0; });
    if (queue.stats().waiting == 0) return round;
    queue.set_away(away);
    queue.set_working();
  }
  return begun;
}

TEST(WriteQueue, gives_up_a_record_that_fills_the_connection) {
  for (const bool server_fails_first : {false, true})
    EXPECT_EQ(attempts(Code::kDeadline, 1'000'000, server_fails_first), 3);
}

TEST(WriteQueue, keeps_a_record_whose_server_goes_away_often) {
  for (const bool server_fails_first : {false, true}) {
    EXPECT_GE(attempts(Code::kIo, 1'000'000, server_fails_first), 10);
    EXPECT_GE(attempts(Code::kDeadline, 1'000, server_fails_first), 10);
  }
}

TEST(WriteQueue, drops_records_that_are_no_longer_useful) {
  WriteQueue queue("server", 1000, kWords);
  queue.set_away(Error{Code::kIo, "away"});
  bool is_written = false;
  WriteQueue::Item late = item_of("late");
  late.write = [&] {
    is_written = true;
    return Result<void>();
  };
  late.useful_until = Clock::now() - milliseconds(1);
  queue.add(std::move(late));
  queue.add(item_of("other"));
  queue.set_working();
  EXPECT_EQ(queue.drain(Clock::now() + kLongest), 0U);
  EXPECT_FALSE(is_written);
  EXPECT_EQ(queue.stats().dropped, 1U);
  EXPECT_EQ(queue.stats().written, 1U);
}

}  // namespace
}  // namespace signalbox::stores
