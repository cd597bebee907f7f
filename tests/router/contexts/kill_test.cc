// Tests kill -9. A child stores, pins and drops contexts as fast as it can, and reports each
// operation after the store has returned. It is killed at an arbitrary moment, and everything that
// it reported must hold. The same directory, or the same Redis without a directory, goes through
// several such runs.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "router/contexts/store.h"
#include "tests/router/contexts/shared_site.h"

namespace signalbox::contexts {
namespace {

constexpr int kLives = 8;

enum class Said : uint32_t { kStored, kPinned, kDropping, kDropped };
struct Line {
  Said what;
  uint32_t number;
};

std::string content_of(uint32_t number) {
  std::string out = fmt::format(R"({{"role":"user","content":"{} )", number);
  for (uint32_t i = 0; i < 500 + number % 977; ++i) out += fmt::format("{} ", i * number);
  return out + "\"}";
}

Key key_of(uint32_t number) {
  return {"a", id_of(content_of(number))};
}

Limits limits() {
  Limits out;
  out.memory_bytes = out.tenant_pinned_bytes = 64 << 20;
  out.tenant_contexts_max = 1'000'000;
  return out;
}

/// Returns null if the store cannot be opened.
using Open = std::function<std::unique_ptr<Store>()>;

std::unique_ptr<Store> open_disk(const std::filesystem::path& directory) {
  auto level = DiskLevel::open(directory, 1);
  if (!level) return nullptr;
  return std::make_unique<Store>(limits(), *std::move(level), kNow);
}

std::unique_ptr<Store> open_redis(const RedisSite& site) {
  auto out = std::make_unique<Store>(limits(), packed_level(), kNow, site.level());
  // The store serves requests before it has read its log.
  for (int i = 0; i < 3000; ++i) {
    if (out->follow(std::chrono::milliseconds(1), kNow)) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return nullptr;
}

/// Never returns. Runs two threads, each with its own numbers.
[[noreturn]] void live(const Open& open, int to, uint32_t first) {
  const std::unique_ptr<Store> opened = open();
  if (!opened) ::_exit(3);
  Store& store = *opened;
  const auto say = [to](Said what, uint32_t number) {
    const Line line{what, number};
    if (::write(to, &line, sizeof line) != sizeof line) ::_exit(4);
  };
  const auto work = [&](uint32_t number) {
    for (;; number += 2) {
      const auto put = store.put("a", content_of(number), 1, kNow);
      if (!put || !store.is_durable(put->context)) ::_exit(5);
      say(Said::kStored, number);
      if (number % 5 == 0) {
        if (!store.pin(key_of(number), true)) ::_exit(6);
        say(Said::kPinned, number);
      }
      if (number % 3 == 0) {
        say(Said::kDropping, number);
        if (!store.drop(key_of(number))) ::_exit(7);
        say(Said::kDropped, number);
      }
    }
  };
  std::thread other(work, first + 1);
  work(first);
  ::_exit(8);
}

/// Returns the operations that the child reported before it was killed, which happens once it has
/// reported `reports` of them and is in the middle of the next ones.
std::vector<Line> life(const Open& open, uint32_t first, size_t reports) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    live(open, ends[1], first);
  }
  ::close(ends[1]);
  std::vector<Line> out;
  Line line{};
  while (::read(ends[0], &line, sizeof line) == sizeof line) {
    out.push_back(line);
    if (out.size() == reports) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  return out;
}

/// Calls `between` after each run, before checking the remaining contexts.
void expect_nothing_lost(
    const Open& open, const std::function<void(int life)>& between = [](int) {}) {
  std::map<uint32_t, Said> last;  // by number
  std::map<uint32_t, bool> pinned;
  size_t stored = 0;
  for (int i = 0; i < kLives; ++i) {
    const size_t reports = 5 + 13 * i;
    const auto lines = life(open, static_cast<uint32_t>(i) * 1'000'000 + 1, reports);
    EXPECT_GE(lines.size(), reports);
    for (const Line& line : lines) {
      if (line.what == Said::kPinned) {
        pinned[line.number] = true;
      } else {
        last[line.number] = line.what;
      }
      stored += line.what == Said::kStored;
    }
    between(i);
    const std::unique_ptr<Store> opened = open();
    ASSERT_TRUE(opened);
    Store& store = *opened;
    EXPECT_TRUE(store.rejected().empty()) << store.rejected().front();
    for (const auto& [number, said] : last) {
      const auto got = store.get(key_of(number), kNow);
      if (said == Said::kDropped) {
        EXPECT_FALSE(got) << number;
      }
      if (said != Said::kStored) continue;  // it was being dropped at the moment of the kill
      ASSERT_TRUE(got) << number << ": " << got.error().message;
      EXPECT_EQ(**got, content_of(number));
      if (pinned[number]) {
        EXPECT_TRUE(store.find(key_of(number))->pinned) << number;
      }
    }
  }
  EXPECT_GT(stored, 50U);
  testing::Test::RecordProperty("stored", static_cast<int>(stored));
}

TEST(Killed, a_kill_loses_no_acknowledged_context) {
  const Folder folder;
  expect_nothing_lost([&] { return open_disk(folder.path()); });
  EXPECT_TRUE(folder.files(".partial").empty());
}

TEST(Killed, a_kill_of_router_or_redis_loses_no_shared_context) {
  if (const std::string missing = test::RedisProcess::missing(); !missing.empty())
    GTEST_SKIP() << missing;
  RedisSite site;
  site.start(true);
  const auto end_redis = [&](int life) {
    if (life % 2 == 0) return;
    site.server().end();
    site.start(true);
  };
  expect_nothing_lost([&] { return open_redis(site); }, end_redis);
}

}  // namespace
}  // namespace signalbox::contexts
