#pragma once
// Writes lines from a separate thread. A caller never waits for the reader of the descriptor:
// otherwise a stalled log collector would stall every request.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace signalbox {

/// Writes lines in order and combines waiting lines into one write. While the descriptor accepts
/// data, a line waits a few milliseconds at most. Lines that wait are lost if the process ends
/// without destroying the writer: by a crash, abort() or a signal. Thread-safe.
class LineWriter {
 public:
  /// Returns the line that reports `count` dropped lines.
  using Dropped = std::function<std::string(uint64_t count)>;

  /// Writes to `descriptor`, which the caller owns and which must outlive the writer. At most
  /// `bytes_max` bytes wait in the queue, in addition to those being written.
  LineWriter(int descriptor, Dropped dropped, size_t bytes_max = size_t{4} << 20);

  /// Writes the remaining lines, but gives up if the descriptor accepts no data for half a second.
  ~LineWriter();

  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Queues a line, which must end in a line break. A line that does not fit is dropped. One line
  /// then reports all dropped lines.
  void write(std::string_view line);

 private:
  void run();
  void write_out(std::string_view bytes);
  bool given_up();

  const int descriptor_;
  const bool is_file_;  // it never blocks
  const Dropped dropped_line_;
  const size_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  uint64_t dropped_ = 0;
  bool is_asleep_ = false;  // the thread waits for a line
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace signalbox
