#pragma once
// Server-sent events, read as they come in whatever pieces, and written.

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::dialects {

/// Memory is that of one event, kEventBytesMax at most. Fields other than `data` are left out: all
/// that we read repeat the name of an event in its data.
class EventReader {
 public:
  static constexpr size_t kEventBytesMax = size_t{1} << 24;
  using Take = std::function<Result<void>(std::string_view data)>;

  /// Calls `take` with the data of each whole event and stops at its first error. kTooLarge.
  Result<void> push(std::string_view bytes, const Take& take);
  /// The stream has ended: what has come of a last event counts as whole.
  Result<void> finish(const Take& take);

 private:
  Result<void> line(std::string_view line, const Take& take);
  Result<void> dispatch(const Take& take);

  std::string line_;  // that has begun
  std::string data_;  // of the event that has begun
  bool has_data_ = false;
};

/// "event: <name>\ndata: <data>\n\n", without the first line when the name is empty. Neither holds
/// a line feed.
void append_event(std::string& out, std::string_view name, std::string_view data);

}  // namespace signalbox::dialects
