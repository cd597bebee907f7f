#pragma once
// Reads server-sent events that arrive in arbitrary pieces, and writes them.

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::dialects {

/// Memory is bounded by one event, at most kEventBytesMax. Fields other than `data` are ignored:
/// all supported APIs repeat the name of an event in its data.
class EventReader {
 public:
  static constexpr size_t kEventBytesMax = size_t{1} << 24;
  using Take = std::function<Result<void>(std::string_view data)>;

  /// Calls `take` with the data of each complete event and stops at its first error. kTooLarge.
  Result<void> push(std::string_view bytes, const Take& take);
  /// Call it at the end of the stream: an unterminated last event counts as complete.
  Result<void> finish(const Take& take);

 private:
  Result<void> add_line(std::string_view line, const Take& take);
  Result<void> dispatch(const Take& take);

  std::string line_;  // the incomplete line
  std::string data_;  // of the incomplete event
  bool has_data_ = false;
};

/// "event: <name>\ndata: <data>\n\n", without the first line if `name` is empty. Neither may
/// contain a line feed.
void append_event(std::string& out, std::string_view name, std::string_view data);

}  // namespace signalbox::dialects
