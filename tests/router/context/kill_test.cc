// kill -9: a child stores, pins and drops as fast as it can and says each thing once the store has
// returned; it is killed at some moment, and everything that it has said is so. The same directory
// goes through several such lives.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "router/context/disk_level.h"
#include "router/context/store.h"
#include "tests/router/context/folder.h"

namespace signalbox::context {
namespace {

constexpr int64_t kNow = 1'700'000'000;
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

/// Never returns. Two threads, each with numbers of its own.
[[noreturn]] void live(const std::filesystem::path& directory, int to, uint32_t first) {
  auto level = DiskLevel::open(directory, 1);
  if (!level) ::_exit(3);
  Store store(limits(), *std::move(level), kNow);
  const auto say = [to](Said what, uint32_t number) {
    const Line line{what, number};
    if (::write(to, &line, sizeof line) != sizeof line) ::_exit(4);
  };
  const auto work = [&](uint32_t number) {
    for (;; number += 2) {
      if (!store.put("a", content_of(number), 1, kNow)) ::_exit(5);
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

/// What it has said until it was killed.
std::vector<Line> life(const std::filesystem::path& directory, uint32_t first,
                       std::chrono::milliseconds until) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    live(directory, ends[1], first);
  }
  ::close(ends[1]);
  std::vector<Line> out;
  std::thread killer;
  Line line{};
  while (::read(ends[0], &line, sizeof line) == sizeof line) {
    // From its first word on, so that slow machines have something to lose, too.
    if (out.empty()) {
      killer = std::thread([=] {
        std::this_thread::sleep_for(until);
        ::kill(child, SIGKILL);
      });
    }
    out.push_back(line);
  }
  if (killer.joinable()) killer.join();
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  return out;
}

TEST(Killed, nothing_that_was_acknowledged_is_lost) {
  const Folder folder;
  std::map<uint32_t, Said> last;  // of each number
  std::map<uint32_t, bool> pinned;
  size_t stored = 0;
  for (int i = 0; i < kLives; ++i) {
    const auto lines = life(folder.path(), static_cast<uint32_t>(i) * 1'000'000 + 1,
                            std::chrono::milliseconds(40 + 13 * i));
    EXPECT_FALSE(lines.empty());
    for (const Line& line : lines) {
      if (line.what == Said::kPinned) {
        pinned[line.number] = true;
      } else {
        last[line.number] = line.what;
      }
      stored += line.what == Said::kStored;
    }
    auto level = DiskLevel::open(folder.path(), 1);
    ASSERT_TRUE(level) << level.error().message;
    Store store(limits(), *std::move(level), kNow);
    EXPECT_TRUE(store.rejected().empty()) << store.rejected().front();
    EXPECT_TRUE(folder.files(".partial").empty());
    for (const auto& [number, said] : last) {
      const auto got = store.get(key_of(number), kNow);
      if (said == Said::kDropped) {
        EXPECT_FALSE(got) << number;
      }
      if (said != Said::kStored) continue;  // on its way out when it was killed
      ASSERT_TRUE(got) << number << ": " << got.error().message;
      EXPECT_EQ(**got, content_of(number));
      if (pinned[number]) {
        EXPECT_TRUE(store.find(key_of(number))->pinned) << number;
      }
    }
  }
  EXPECT_GT(stored, 50U);
  RecordProperty("stored", static_cast<int>(stored));
}

}  // namespace
}  // namespace signalbox::context
