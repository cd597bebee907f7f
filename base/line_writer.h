#pragma once
// Lines that a thread of their own writes. Whoever has a line to write never waits for the reader
// of the descriptor: a log collector that stalls would otherwise stall every request.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace signalbox {

/// Lines are written in their order, as many at a time as have come together. Thread-safe.
class LineWriter {
 public:
  /// The line that stands for `count` dropped ones.
  using Dropped = std::function<std::string(uint64_t count)>;

  /// Writes to `descriptor`, which stays the caller's and outlives the writer. At most `bytes_max`
  /// bytes wait, beside those that are just being written.
  LineWriter(int descriptor, Dropped dropped, size_t bytes_max = size_t{4} << 20);

  /// Writes what still waits, and gives up when nobody reads for half a second.
  ~LineWriter();

  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// `line` ends in a line break. Where there is no room for it, it is dropped, and one line comes
  /// in the place of all that were.
  void write(std::string_view line);

 private:
  void run();
  void write_out(std::string_view bytes);
  bool given_up();

  const int descriptor_;
  const Dropped dropped_line_;
  const size_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  uint64_t dropped_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace signalbox
