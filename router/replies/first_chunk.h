#pragma once
// Adds a member to the first chunk of a stream of chat completions, as a whole completion has it at
// its end.

#include <string>
#include <string_view>

namespace signalbox::replies {

/// The state of one stream, without a socket. It keeps at most the beginning of one line, up to a
/// MiB; a longer line passes as it comes, and then the member is left out.
class FirstChunkEditor {
 public:
  /// `json` is a value.
  FirstChunkEditor(std::string_view name, std::string_view json);

  /// Appends to `out` what the client may see of the bytes so far. With `last`, the rest, too.
  void push(std::string_view bytes, bool last, std::string& out);

 private:
  void pass(std::string_view line, std::string& out);

  std::string member_;  // "name":value
  std::string rest_;    // the beginning of a line
  bool done_ = false;
};

}  // namespace signalbox::replies
