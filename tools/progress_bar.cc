// Plain ASCII, so that it looks the same on every terminal.

#include "tools/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace signalbox::tools {
namespace {

constexpr uint64_t kCells = 30;
constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr double kSettled = 1;  // seconds after which the speed is worth showing

}  // namespace

std::string bytes_text(uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", number / 1e9);
  if (bytes >= 100'000) return fmt::format("{:.1f} MB", number / 1e6);
  return fmt::format("{} bytes", bytes);
}

std::string progress_text(std::string_view name, uint64_t first, uint64_t done, uint64_t total,
                          double seconds) {
  const double share =
      total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto cells = static_cast<size_t>(share * kCells);
  std::string out = fmt::format("{} [{}{}] {:3.0f} %  {} of {}", name, std::string(cells, '#'),
                                std::string(kCells - cells, '.'), share * 100, bytes_text(done),
                                bytes_text(total));
  if (seconds < kSettled || done <= first) return out;
  const double speed = static_cast<double>(done - first) / seconds;
  out += fmt::format(", {}/s", bytes_text(static_cast<uint64_t>(speed)));
  if (done < total)
    out += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / speed);
  return out;
}

ProgressBar::ProgressBar(std::string name, uint64_t total)
    : name_(std::move(name)), total_(total), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  hide();
}

void ProgressBar::show(uint64_t done) {
  if (!is_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (start_ == decltype(start_)()) {
    start_ = now;
    first_ = done;
  }
  if (is_drawn_ && now - drawn_ < kInterval) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\033[K{}", progress_text(name_, first_, done, total_, seconds));
  std::fflush(stderr);
  drawn_ = now;
  is_drawn_ = true;
}

void ProgressBar::hide() {
  if (is_drawn_) fmt::print(stderr, "\r\033[K");
  is_drawn_ = false;
}

}  // namespace signalbox::tools
