// LineWriter on a pipe that the test reads or leaves unread.

#include "base/line_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace signalbox {
namespace {

class Pipe {
 public:
  explicit Pipe(int flags = 0) { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC | flags), 0); }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }
  std::string read_all() {
    close_writer();
    std::string all;
    std::array<char, 4096> bytes{};
    for (ssize_t count = 0; (count = read(ends_[0], bytes.data(), bytes.size())) > 0;)
      all.append(bytes.data(), static_cast<size_t>(count));
    return all;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::string dropped(uint64_t count) {
  return fmt::format("dropped {}\n", count);
}

TEST(LineWriter, WritesEveryLineToAFile) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(tmpfile(), &fclose);
  ASSERT_NE(file, nullptr);
  std::string expected;
  {
    LineWriter writer(fileno(file.get()), dropped);
    for (int i = 0; i < 10'000; ++i) {
      writer.write(fmt::format("line {}\n", i));
      expected += fmt::format("line {}\n", i);
    }
  }
  std::string found(expected.size() + 1, '\0');
  found.resize(static_cast<size_t>(pread(fileno(file.get()), found.data(), found.size(), 0)));
  EXPECT_EQ(found, expected);
}

TEST(LineWriter, WritesEveryLineInOrder) {
  Pipe pipe;
  std::string expected;
  {
    LineWriter writer(pipe.writer(), dropped);
    for (int i = 0; i < 1000; ++i) {
      writer.write(fmt::format("line {}\n", i));
      expected += fmt::format("line {}\n", i);
    }
  }
  EXPECT_EQ(pipe.read_all(), expected);
}

TEST(LineWriter, WritesALineWithoutAnother) {
  Pipe pipe;
  LineWriter writer(pipe.writer(), dropped);
  for (int i = 0; i < 100; ++i) {
    // Lines come while the thread sleeps, writes, or waits for more of them.
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(8));
    writer.write("line\n");
    pollfd readable{.fd = pipe.reader(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, 10'000), 1) << "line " << i << " is not written";
    std::array<char, 64> bytes{};
    ASSERT_EQ(read(pipe.reader(), bytes.data(), bytes.size()), 5);
  }
}

TEST(LineWriter, EndsEachPieceWithALine) {
  Pipe pipe(O_DIRECT);  // a read returns what one write has written
  {
    LineWriter writer(pipe.writer(), dropped);
    for (int i = 0; i < 300; ++i) writer.write("a line that stands for any other\n");
  }
  pipe.close_writer();
  std::array<char, 8192> bytes{};
  ssize_t all = 0;
  for (ssize_t count = 0; (count = read(pipe.reader(), bytes.data(), bytes.size())) > 0;) {
    EXPECT_EQ(bytes.at(static_cast<size_t>(count) - 1), '\n');
    all += count;
  }
  EXPECT_EQ(all, 300 * 33);
}

TEST(LineWriter, DropsLinesAndReportsItWhenNobodyReads) {
  Pipe pipe;
  constexpr size_t kWaitingMax = size_t{64} << 10;
  constexpr int kLines = 100'000;  // far more than a pipe and kWaitingMax can hold
  auto writer = std::make_unique<LineWriter>(pipe.writer(), dropped, kWaitingMax);
  for (int i = 0; i < kLines; ++i) writer->write("a line that stands for any other\n");

  std::string all;
  std::thread reader([&] {
    std::array<char, 4096> bytes{};
    for (ssize_t count = 0; (count = read(pipe.reader(), bytes.data(), bytes.size())) > 0;)
      all.append(bytes.data(), static_cast<size_t>(count));
  });
  writer.reset();
  pipe.close_writer();
  reader.join();
  EXPECT_NE(all.find("dropped "), std::string::npos);

  // Each "dropped" line is where lines are missing; later drops have their own line.
  int accounted = 0;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);)
    accounted += line.starts_with("dropped ") ? std::stoi(line.substr(8)) : 1;
  EXPECT_EQ(accounted, kLines);
}

TEST(LineWriter, EndsAlthoughNobodyReads) {
  Pipe pipe;
  const auto begin = std::chrono::steady_clock::now();
  {
    LineWriter writer(pipe.writer(), dropped);
    for (int i = 0; i < 10'000; ++i) writer.write("a line that stands for any other\n");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace signalbox
