#pragma once
// The program's log: one line an event on standard error, level and component first. Libraries
// below router/ do not log; they return errors. User text and personal data never go into a log
// line.

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/error.h"

namespace signalbox::log {

enum class Level : unsigned char { kDebug, kInfo, kWarn, kError };

/// Sets the lowest level that is written; "debug", "info", "warn" or "error". Default info.
/// Thread-safe.
Result<void> set_level(std::string_view name);

/// How lines look from now on: "text", for people, or "json", an object a line with time, level,
/// component and message. Default text. Before threads write.
Result<void> set_format(std::string_view name);

/// From now on lines are written by a thread of their own until the process ends
/// (base/line_writer): no caller waits for who reads them. Where standard error is a terminal
/// nothing changes. Before threads write, once.
void write_behind();

bool enabled(Level level);

/// Writes one line of several values: `members` are those of a JSON object, without its braces.
/// Thread-safe.
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
