#pragma once
// The program's log: one line per event on standard error, starting with level and component.
// Libraries below router/ do not log; they return errors. A log line must never contain user text
// or personal data.

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/error.h"

namespace signalbox::log {

enum class Level : unsigned char { kDebug, kInfo, kWarn, kError };

/// Sets the lowest level that is written: "debug", "info", "warn" or "error". The default is info.
/// Thread-safe.
Result<void> set_level(std::string_view name);

/// Sets the line format: "text" for people, or "json", one object per line with time, level,
/// component and message. The default is text. Call it before other threads log.
Result<void> set_format(std::string_view name);

/// Moves writing to a separate thread until the process ends (base/line_writer), so that no caller
/// waits for the reader. Has no effect if standard error is a terminal. Call it once, before other
/// threads log.
void write_behind();

bool enabled(Level level);

/// Writes one line with several values. `members` holds the members of a JSON object without the
/// braces. Thread-safe.
void event(Level level, std::string_view component, std::string_view members);

/// Writes one line. Thread-safe.
void write(Level level, std::string_view component, std::string_view message);

template <class... Args>
void debug(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kDebug)) {
    write(Level::kDebug, component, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void info(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kInfo)) {
    write(Level::kInfo, component, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void warn(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kWarn)) {
    write(Level::kWarn, component, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void error(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::kError)) {
    write(Level::kError, component, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace signalbox::log
