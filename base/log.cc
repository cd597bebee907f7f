// The adapter to spdlog; its types stay in this file.

#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/line_writer.h"

namespace signalbox::log {
namespace {

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%e%z %^%-7l%$ %v";
constexpr const char* kJsonPattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})";
bool as_json = false;

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "signalbox", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern(kTextPattern);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// Passes lines to the LineWriter.
class BehindSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    line_.clear();
    formatter_->format(message, line_);
    writer_.write({line_.data(), line_.size()});
  }
  void flush_() override {}

  static std::string dropped(uint64_t count) {
    constexpr const char* kMessage = "lines were dropped because the log reader is too slow";
    if (!as_json) return fmt::format("log: {} {}\n", count, kMessage);
    return fmt::format(R"({{"level":"warning","component":"log","message":"{} {}"}})"
                       "\n",
                       count, kMessage);
  }

  LineWriter writer_{STDERR_FILENO, dropped};
  spdlog::memory_buf_t line_;
};

}  // namespace

Result<void> set_level(std::string_view name) {
  for (const auto& [known, level] : {std::pair{"debug", Level::kDebug},
                                     {"info", Level::kInfo},
                                     {"warn", Level::kWarn},
                                     {"error", Level::kError}}) {
    if (name == known) {
      logger().set_level(to_spdlog(level));
      return {};
    }
  }
  return fail(Code::kInvalid, "unknown log level \"{}\" (known: debug, info, warn, error)", name);
}

bool enabled(Level level) {
  return logger().should_log(to_spdlog(level));
}

Result<void> set_format(std::string_view name) {
  if (name != "text" && name != "json")
    return fail(Code::kInvalid, "unknown log format \"{}\" (known: text, json)", name);
  as_json = name == "json";
  logger().set_pattern(as_json ? kJsonPattern : kTextPattern);
  return {};
}

void write_behind() {
  if (isatty(STDERR_FILENO) != 0) return;
  logger().sinks() = {std::make_shared<BehindSink>()};
  logger().set_pattern(as_json ? kJsonPattern : kTextPattern);
}

void write(Level level, std::string_view component, std::string_view message) {
  if (as_json) {
    event(level, component, fmt::format("\"message\":{}", json::quote(message)));
  } else {
    logger().log(to_spdlog(level), "{}: {}", component, message);
  }
}

void event(Level level, std::string_view component, std::string_view members) {
  if (as_json) {
    logger().log(to_spdlog(level), "\"component\":{},{}", json::quote(component), members);
  } else {
    logger().log(to_spdlog(level), "{}: {}", component, members);
  }
}

}  // namespace signalbox::log
