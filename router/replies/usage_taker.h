#pragma once
// Takes the usage out of a stream of chat completions whose client did not request it. The router
// requests it from the server to know what the stream costs.

#include <string>
#include <string_view>

namespace signalbox::replies {

/// The state of one stream, without a socket. It keeps at most the beginning of one event.
class UsageTaker {
 public:
  /// Appends to `out` the whole events of the bytes so far that the client may see. With `last`,
  /// the rest, too.
  void push(std::string_view bytes, bool last, std::string& out);

 private:
  static void pass(std::string_view event, std::string& out);

  std::string rest_;  // the beginning of an event
};

}  // namespace signalbox::replies
