#pragma once
// A line on a terminal that shows how much of a download is done.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::tools {

/// Writes to standard error, and only if that is a terminal.
class ProgressBar {
 public:
  /// `total` is in bytes.
  ProgressBar(std::string name, uint64_t total);
  /// Erases the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` is in bytes. Draws at most ten times a second.
  void show(uint64_t done);
  /// Erases the line, so that a message can be printed. The next show() draws it again.
  void hide();

 private:
  std::string name_;
  uint64_t total_;
  bool is_terminal_;
  bool is_drawn_ = false;
  uint64_t first_ = 0;  // bytes that were there at the start
  std::chrono::steady_clock::time_point start_ = {};
  std::chrono::steady_clock::time_point drawn_ = {};
};

/// "1.2 GB", "45.4 MB" or "612 bytes"; decimal units.
std::string bytes_text(uint64_t bytes);

/// One state of the line: "NAME [#####.....]  50 %  45.4 MB of 90.9 MB, 12.0 MB/s, 4 s left".
/// `seconds` is the time in which the bytes since `first` came.
std::string progress_text(std::string_view name, uint64_t first, uint64_t done, uint64_t total,
                          double seconds);

}  // namespace signalbox::tools
