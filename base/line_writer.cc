// Uses two buffers: callers fill one while the thread writes the other. A file gets a buffer in one
// piece; anything else gets pieces of at most PIPE_BUF bytes. Callers wake the thread only if it
// sleeps, because that costs more than many lines: the first line after a silence is written at
// once, and those behind it together after a pause.

#include "base/line_writer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

namespace signalbox {
namespace {

constexpr int kPatienceMs = 500;
// Lines that come so soon after others are written together.
constexpr std::chrono::milliseconds kPause{5};

bool is_regular(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// A pipe that is ready accepts this many bytes without blocking. A piece ends with a line if it
// can, because other processes may write to the same pipe.
std::string_view piece_for_pipe(std::string_view bytes) {
  std::string_view piece = bytes.substr(0, PIPE_BUF);
  if (piece.size() < bytes.size()) piece = piece.substr(0, piece.rfind('\n') + 1);
  return piece.empty() ? bytes.substr(0, PIPE_BUF) : piece;
}

}  // namespace

LineWriter::LineWriter(int descriptor, Dropped dropped, size_t bytes_max)
    : descriptor_(descriptor),
      is_file_(is_regular(descriptor)),
      dropped_line_(std::move(dropped)),
      bytes_max_(bytes_max) {
  thread_ = std::thread([this] { run(); });
}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LineWriter::write(std::string_view line) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > bytes_max_) {
      ++dropped_;
      return;
    }
    waiting_ += line;
    wakes = std::exchange(is_asleep_, false);
  }
  if (wakes) changed_.notify_one();
}

void LineWriter::run() {
  std::string taken;
  std::unique_lock lock(mutex_);
  while (true) {
    is_asleep_ = waiting_.empty();
    changed_.wait(lock, [this] { return !waiting_.empty() || ending_; });
    if (waiting_.empty()) return;
    taken.swap(waiting_);
    const uint64_t dropped = std::exchange(dropped_, 0);
    lock.unlock();
    if (dropped > 0) taken += dropped_line_(dropped);
    write_out(taken);
    taken.clear();
    lock.lock();
    changed_.wait_for(lock, kPause, [this] { return ending_; });
  }
}

void LineWriter::write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int polled = poll(&ready, 1, kPatienceMs);
    if (polled == 0) {
      if (given_up()) return;
      continue;
    }
    const std::string_view piece = is_file_ ? bytes : piece_for_pipe(bytes);
    const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
}

bool LineWriter::given_up() {
  const std::lock_guard lock(mutex_);
  if (ending_) waiting_.clear();
  return ending_;
}

}  // namespace signalbox
