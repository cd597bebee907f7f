// Tests the audit log: the chain over files, what the verifier finds, and a process that is killed
// or whose disk is full.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "router/audit/log.h"
#include "router/audit/newest.h"
#include "router/audit/verify.h"
#include "tests/router/small_disk.h"
#include "tests/router/temporary_directory.h"

namespace {

std::atomic<bool> disk_is_broken{false};
std::atomic<int> failed_syncs{0};

}  // namespace

// Takes the place of the C library's function in this program.
extern "C" int fdatasync(int fd) {
  if (!disk_is_broken) return fsync(fd);
  ++failed_syncs;
  errno = EIO;
  return -1;
}

namespace signalbox::audit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTime = "2027-01-15T08:00:00.000Z";

std::string text_of(const fs::path& file) {
  return read_file(file, size_t{1} << 26).value();
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

void put(const fs::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << '\n';
}

/// Writes entries 1 to `count` to a new file.
void fill(const fs::path& path, size_t count, uint64_t bytes_max = 1 << 20,
          uint32_t files_max = 100) {
  AuditFile file(path, bytes_max, files_max);
  ASSERT_TRUE(file.open());
  for (size_t i = 1; i <= count; ++i) {
    Entry entry("change");
    entry.text("key", fmt::format("ann \"{}\"", i)).number("status", 200);
    ASSERT_TRUE(file.append(entry, kTime));
  }
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& each : fs::directory_iterator(folder)) {
    if (each.path().extension() != ".lock") out.push_back(each.path());
  }
  return out;
}

std::string why(const std::vector<fs::path>& files) {
  const auto verified = verify(files);
  return verified ? "" : verified.error().message;
}

TEST(AuditChain, holds_over_many_entries) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "deep" / "audit.jsonl";
  fill(path, 3);
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], R"({"entry":1,"time":"2027-01-15T08:00:00.000Z","previous":")" +
                          std::string(64, '0') +
                          R"(","event":"change","key":"ann \"1\"","status":200})");
  const auto verified = verify({path});
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->first, 1U);
  EXPECT_EQ(verified->last.number, 3U);
  EXPECT_EQ(verified->last.digest, link_of(lines[2], 3).digest);
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST(AuditChain, finds_every_kind_of_change) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  fill(path, 5);
  const auto good = lines_of(path);
  const auto after = [&](auto change) {
    auto lines = good;
    change(lines);
    put(path, lines);
    return why({path});
  };
  EXPECT_EQ(after([](auto&) {}), "");
  const auto has = [&](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(after([](auto& lines) { lines[2].replace(lines[2].find("200"), 3, "201"); }),
      "audit.jsonl:3: this line or the next one was changed: entry 4 does not continue entry 3");
  has(after([](auto& lines) { lines.erase(lines.begin() + 2); }),
      "audit.jsonl:3: entry 4 follows entry 2");
  has(after([](auto& lines) { lines.insert(lines.begin() + 2, lines[1]); }),
      "audit.jsonl:3: entry 2 follows entry 2");
  has(after([](auto& lines) { std::swap(lines[1], lines[2]); }),
      "audit.jsonl:2: entry 3 follows entry 1");
  has(after([](auto& lines) { lines[3] = "{}"; }), "audit.jsonl:4: expected an entry");
  has(after([](auto& lines) { lines[3] = ""; }), "audit.jsonl:4: ");
  has(after([](auto& lines) { lines[0].replace(lines[0].find("0000000"), 1, "1"); }),
      "audit.jsonl:1: the first entry continues another one");
  has(after([](auto& lines) { lines[1] += std::string(kLineBytesMax, ' '); }),
      "audit.jsonl:2: a line of");
  has(why({folder.path() / "nowhere"}), "cannot be read");
}

TEST(AuditChain, continues_over_files_given_in_any_order) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  fill(path, 60, 2000);
  auto files = files_in(folder.path());
  EXPECT_GT(files.size(), 5U);
  for (const fs::path& file : files) EXPECT_LE(fs::file_size(file), 2000U);
  const auto verified = verify(files);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->last.number, 60U);
  std::erase(files, folder.path() / "audit.jsonl.000003");
  EXPECT_NE(why(files).find("entries are missing or moved"), std::string::npos) << why(files);
  std::erase(files, folder.path() / "audit.jsonl.000001");
  std::erase(files, folder.path() / "audit.jsonl.000002");
  const auto rest = verify(files);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_GT(rest->first, 1U);
}

TEST(AuditFile, keeps_a_limited_number_of_files) {
  const test::TemporaryDirectory folder;
  fill(folder.path() / "audit.jsonl", 100, 2000, 3);
  const auto files = files_in(folder.path());
  EXPECT_EQ(files.size(), 4U);
  EXPECT_EQ(why(files), "");
}

TEST(AuditFile, continues_after_the_last_entry_of_another_process) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  for (int i = 0; i < 4; ++i) fill(path, 10, 2000);
  const auto verified = verify(files_in(folder.path()));
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->last.number, 40U);
  // A process may have been killed between the two steps of a rotation.
  fs::rename(path, folder.path() / "audit.jsonl.000099");
  fill(path, 1);
  EXPECT_EQ(verify(files_in(folder.path())).value().last.number, 41U);
}

TEST(AuditFile, cuts_off_a_torn_line_at_every_byte) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  fill(path, 3);
  const std::string all = text_of(path);
  const size_t whole = all.rfind('\n', all.size() - 2) + 1;
  for (size_t size = whole; size < all.size(); ++size) {
    std::ofstream(path, std::ios::binary) << all.substr(0, size);
    EXPECT_EQ(verify({path}).value().torn_bytes, size - whole);
    AuditFile file(path, 1 << 20, 1);
    EXPECT_EQ(file.open().value(), size - whole);
    EXPECT_EQ(file.end().number, 2U);
    ASSERT_TRUE(file.append(Entry("next"), kTime));
    const auto verified = verify({path});
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(verified->last.number, 3U);
  }
}

TEST(AuditFile, refuses_a_file_that_is_not_an_audit_log) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  const auto trouble = [&] {
    AuditFile file(path, 1 << 20, 1);
    const auto opened = file.open();
    return opened ? std::string() : opened.error().message;
  };
  std::ofstream(path) << "Dear diary,\n";
  EXPECT_NE(trouble().find("the last line is not an entry"), std::string::npos) << trouble();
  EXPECT_EQ(text_of(path), "Dear diary,\n");
  std::ofstream(path) << std::string(3 * kLineBytesMax, 'x');
  EXPECT_NE(trouble().find("too long"), std::string::npos) << trouble();
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(trouble(), "");
  fs::remove(path);
  ASSERT_EQ(symlink("/dev/null", path.c_str()), 0);
  EXPECT_NE(trouble(), "");
  fs::remove(path);
  AuditFile first(path, 1 << 20, 1);
  ASSERT_TRUE(first.open());
  EXPECT_NE(trouble().find("another process writes it"), std::string::npos);
}

config::Audit settings(config::Audit::Unwritable unwritable = config::Audit::Unwritable::kReport) {
  config::Audit out;
  out.file = "audit.jsonl";
  out.unwritable = unwritable;
  return out;
}

TEST(AuditFile, gives_its_newest_entries) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  EXPECT_EQ(newest_lines(path, 5).error().code, Code::kNotFound);
  fill(path, 7);
  const auto lines = lines_of(path);
  std::ofstream(path, std::ios::app) << "no entry\n" << lines[0].substr(0, 40);
  EXPECT_EQ(newest_lines(path, 2).value(), (std::vector{lines[6], lines[5]}));
  EXPECT_EQ(newest_lines(path, 100).value().size(), 7U);
  // Beyond what is read at once, only whole lines count.
  const fs::path large = folder.path() / "large.jsonl";
  fill(large, 9'000, uint64_t{16} << 20);
  const auto newest = newest_lines(large, 1'000'000).value();
  EXPECT_LT(newest.size(), 9'000U);
  EXPECT_GT(newest.size(), 1'000U);
  EXPECT_EQ(newest.front(), lines_of(large).back());
  std::ofstream(folder.path() / "empty.jsonl");
  EXPECT_TRUE(newest_lines(folder.path() / "empty.jsonl", 5).value().empty());
}

TEST(AuditLog, writes_the_entries_of_many_threads) {
  const test::TemporaryDirectory folder;
  {
    Log log;
    ASSERT_TRUE(log.open(settings(), folder.path() / "config.yaml"));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 200; ++k) log.add(Entry("change"));
      });
    for (std::thread& thread : threads) thread.join();
  }
  const auto verified = verify({folder.path() / "audit.jsonl"});
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->last.number, 800U);
}

const Sender kStranger{Sender::Kind::kStranger, "10.0.0.7"};
const Sender kKey{Sender::Kind::kKey, "ann"};

TEST(AuditLog, keeps_changes_however_many_requests_are_refused) {
  const test::TemporaryDirectory folder;
  config::Audit small = settings();
  small.bytes_max = size_t{64} << 10;
  small.files_max = 1;
  {
    Log log;
    ASSERT_TRUE(log.open(small, folder.path() / "config.yaml"));
    log.add(Entry("change"));
    for (int i = 0; i < 50'000; ++i) {
      const std::string address = fmt::format("10.0.{}.{}", i / 250 % 250, i % 250);
      log.add_refusal({Sender::Kind::kStranger, address}, Entry("refused"));
    }
  }
  const auto changes = lines_of(folder.path() / "audit.jsonl");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NE(changes[0].find("change"), std::string::npos);
  std::vector<fs::path> refusals = files_in(folder.path());
  std::erase(refusals, folder.path() / "audit.jsonl");
  EXPECT_EQ(refusals.size(), 2U) << "the limits of refusals hold as well";
  EXPECT_EQ(why(refusals), "");
}

TEST(AuditLog, counts_refusals_beyond_the_limit_of_their_sender) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit-refusals.jsonl";
  {
    Log log;
    ASSERT_TRUE(log.open(settings(), folder.path() / "config.yaml"));
    for (int i = 0; i < 5000; ++i) log.count_refusal(kStranger);
    log.add_refusal(kKey, Entry("refused"));
  }
  const auto lines = lines_of(path);
  uint64_t count = 0, refused = 0;
  for (const std::string& line : lines) {
    refused += line.find(R"("event":"refused")") != std::string::npos ? 1 : 0;
    const size_t at = line.find(R"("from":"10.0.0.7","count":)");
    if (at != std::string::npos) count += std::stoul(line.substr(line.rfind(':') + 1));
  }
  EXPECT_EQ(count, 5000U);
  EXPECT_EQ(refused, 1U);
  EXPECT_EQ(why({path}), "");
}

TEST(Refusals, refusals_of_each_sender_and_kind_are_limited_per_minute) {
  using std::chrono::seconds;
  Refusals refusals;
  const Refusals::TimePoint begin{seconds(1'000'000)};
  const auto admitted = [&](const Sender& sender, int tries, Refusals::TimePoint now) {
    int out = 0;
    for (int i = 0; i < tries; ++i) out += refusals.admit(sender, now) ? 1 : 0;
    return out;
  };
  EXPECT_EQ(admitted(kStranger, 100, begin), 60);
  EXPECT_EQ(admitted(kKey, 5, begin + seconds(1)), 5);
  refusals.count(kStranger, begin + seconds(2));
  EXPECT_TRUE(refusals.has_counts());
  EXPECT_TRUE(refusals.take(begin + seconds(59)).empty()) << "the minute goes on";
  auto taken = refusals.take(begin + seconds(60));
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].entry.members(), R"(,"from":"10.0.0.7","count":41)");
  EXPECT_EQ(taken[0].count, 41U);
  EXPECT_FALSE(refusals.has_counts());

  const Refusals::TimePoint next = begin + seconds(61);
  int strangers = 0;
  for (int i = 0; i < 3000; ++i)
    strangers += admitted({Sender::Kind::kStranger, fmt::format("address {}", i)}, 1, next);
  EXPECT_EQ(strangers, 1060) << "a thousand senders, and all others as one";
  EXPECT_EQ(admitted(kKey, 1, next), 1) << "strangers do not hide those with keys";
  EXPECT_EQ(admitted({Sender::Kind::kManagement, "10.0.0.7"}, 1, next), 1);
  taken = refusals.take(next, true);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].entry.members(), R"(,"count":1940)");
}

TEST(AuditLog, does_nothing_without_a_file) {
  Log log;
  ASSERT_TRUE(log.open(config::Audit{}, "config.yaml"));
  log.add(Entry("change"));
  EXPECT_TRUE(log.announce(Entry("change")));
  EXPECT_FALSE(log.is_open());
}

TEST(AuditLog, refuses_changes_while_its_disk_is_full_and_goes_on_afterwards) {
  const test::TemporaryDirectory folder;
  std::thread([&] {
    const test::SmallDisk disk(folder.path(), 1);
    if (!disk.missing().empty()) GTEST_SKIP() << disk.missing();
    Log log;
    ASSERT_TRUE(log.open(settings(config::Audit::Unwritable::kRefuseChanges),
                         folder.path() / "config.yaml"));
    ASSERT_TRUE(log.announce(Entry("change_begins")));
    EXPECT_FALSE(log.refuses_changes());
    const fs::path ballast = folder.path() / "ballast";
    {
      std::ofstream file(ballast);
      file << std::string(size_t{2} << 20, 'x');
    }
    Result<void> done;
    while (done) done = log.announce(Entry("change_begins").text("path", std::string(200, 'p')));
    EXPECT_NE(done.error().message.find("No space left"), std::string::npos)
        << done.error().message;
    EXPECT_TRUE(log.refuses_changes());
    EXPECT_EQ(why({folder.path() / "audit.jsonl"}), "") << "no half line stays";
    fs::remove(ballast);
    while (!log.announce(Entry("change_begins"))) std::this_thread::yield();
    EXPECT_FALSE(log.refuses_changes());
    EXPECT_EQ(why({folder.path() / "audit.jsonl"}), "");
  }).join();
}

TEST(AuditLog, notes_that_its_file_was_replaced) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  Log log;
  ASSERT_TRUE(
      log.open(settings(config::Audit::Unwritable::kRefuseChanges), folder.path() / "config.yaml"));
  ASSERT_TRUE(log.announce(Entry("change_begins")));
  fs::rename(path, folder.path() / "moved");
  ASSERT_TRUE(log.announce(Entry("change_begins")));
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("file_replaced"), std::string::npos);
  EXPECT_EQ(why({path, folder.path() / "moved"}), "");
  put(path, {});
  fs::remove(path);
  put(path, {lines_of(folder.path() / "moved")[0]});  // an older state
  ASSERT_TRUE(log.announce(Entry("change_begins")));
  EXPECT_NE(why({path}).find("entries are missing"), std::string::npos) << why({path});
}

TEST(AuditLog, notes_that_its_file_was_cut) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  {
    Log log;
    ASSERT_TRUE(log.open(settings(config::Audit::Unwritable::kRefuseChanges),
                         folder.path() / "config.yaml"));
    ASSERT_TRUE(log.announce(Entry("change_begins")));
    fs::resize_file(path, 0);  // as logrotate does with copytruncate
    ASSERT_TRUE(log.announce(Entry("change_begins")));
    auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find(R"("entry":2,)"), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("file_truncated"), std::string::npos) << lines[0];
    EXPECT_EQ(why({path}), "");
    fs::resize_file(path, lines[0].size() + 10);
    ASSERT_TRUE(log.announce(Entry("change_begins")));
    EXPECT_NE(why({path}).find("entries are missing"), std::string::npos) << why({path});
  }
  EXPECT_EQ(text_of(path).find('\0'), std::string::npos);
  Log log;
  EXPECT_TRUE(log.open(settings(), folder.path() / "config.yaml")) << "it goes on";
}

TEST(AuditLog, refuses_changes_until_a_sync_has_passed) {
  const test::TemporaryDirectory folder;
  Log log;
  ASSERT_TRUE(
      log.open(settings(config::Audit::Unwritable::kRefuseChanges), folder.path() / "config.yaml"));
  failed_syncs = 0;
  disk_is_broken = true;
  Result<void> done;
  while (done) done = log.announce(Entry("change_begins"));
  EXPECT_NE(done.error().message.find("Input/output error"), std::string::npos);
  while (failed_syncs < 2) std::this_thread::yield();
  EXPECT_TRUE(log.refuses_changes());
  disk_is_broken = false;
  while (log.refuses_changes()) std::this_thread::yield();
  EXPECT_TRUE(log.announce(Entry("change_begins")));
}

TEST(AuditFile, lets_only_its_owner_read_it) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder.path() / "audit.jsonl";
  fill(path, 1);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  fill(path, 1);
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  if (chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give files away";
  AuditFile file(path, 1 << 20, 1);
  const auto opened = file.open();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("belongs to the user with the number 12345"),
            std::string::npos)
      << opened.error().message;
}

}  // namespace
}  // namespace signalbox::audit
