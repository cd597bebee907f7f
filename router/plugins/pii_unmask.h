#pragma once
// Originals back into a reply, whole or as a stream of events, whatever way it is cut.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/guard/pii_mask.h"

namespace signalbox::router {

/// Masks as texts have them, and as JSON within a string has them: arguments of calls of tools, and
/// contents that are JSON.
struct ReplyMasks {
  explicit ReplyMasks(const std::vector<Mask>& masks);
  MaskTable in_text;
  MaskTable in_json;
};

/// A whole reply: in JSON the strings that hold placeholders, elsewhere the bytes.
std::string unmask_reply(std::string body, const ReplyMasks& masks);

/// Chunks of completions, of chat or of plain ones, as server-sent events. Each text of each choice
/// is one text over all of its deltas, strings or lists of parts; a delta is held back only by what
/// may still become a placeholder, and what is held when its text, its choice or the stream ends
/// goes out behind the text, or before the next event in one of its own. Other strings are texts of
/// their own. Lines without placeholders keep their bytes.
class StreamUnmasker {
 public:
  /// The masks outlive it.
  explicit StreamUnmasker(const ReplyMasks& masks) : masks_(masks) {}

  /// Appends what is sure by now. kTooLarge for a line of more than kLineBytesMax.
  Result<void> push(std::string_view bytes, std::string& out);
  /// The stream has ended.
  void finish(std::string& out);

  static constexpr size_t kLineBytesMax = size_t{1} << 24;

 private:
  /// Of a text: its choice, its name, and for arguments the number of the call.
  using Field = std::tuple<int64_t, std::string, int64_t>;
  struct Text {
    Unmasker unmasker;
    std::string before = {}, after = {};  // around it, quoted: a member of its choice
  };

  void line(std::string_view line, std::string& out);
  std::string event(const json::Document& event, std::string& out);
  void flush(std::map<Field, Text>::iterator begin, std::map<Field, Text>::iterator end,
             std::string& out);

  const ReplyMasks& masks_;
  std::string rest_;  // the beginning of a line
  std::string head_;  // members of the last chunk that the chunks of our own repeat
  std::map<Field, Text> texts_;
};

}  // namespace signalbox::router
