#pragma once
// Originals back into a reply, whole or as a stream of events, whatever way it is cut.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/replies/chunk_unmasker.h"
#include "router/replies/unmask_text.h"

namespace signalbox::replies {

/// A whole reply: in JSON the strings that hold placeholders, elsewhere the bytes.
std::string unmask_reply(std::string body, const ReplyMasks& masks);

/// Chunks of completions, of chat or of plain ones, as server-sent events. Each text of each choice
/// is one text over all of its deltas, strings or lists of parts; a delta is held back only by what
/// may still become a placeholder. What is held when the text is over goes out behind it, between
/// two events. Other strings are texts of their own. Lines without placeholders keep their bytes.
class StreamUnmasker {
 public:
  /// The masks outlive it.
  explicit StreamUnmasker(const ReplyMasks& masks) : masks_(masks), chunks_(masks) {}

  /// Appends what is sure by now. kTooLarge for an event that has more than kEventBytesMax up to
  /// the end of a line of its data.
  Result<void> push(std::string_view bytes, std::string& out);
  /// The stream has ended.
  void finish(std::string& out);

  static constexpr size_t kEventBytesMax = size_t{1} << 24;

 private:
  /// Where what went out ends.
  enum class Out : uint8_t { kBetweenEvents, kBetweenLines, kInLine };

  void line(std::string_view line, std::string& out);
  std::string unmasked_data(std::string_view line, std::string& before);
  void insert(std::string_view events, std::string& out);

  const ReplyMasks& masks_;
  ChunkUnmasker chunks_;
  std::string begun_;  // lines of an event whose data is to come, and something before it
  std::string rest_;   // the beginning of a line
  Out at_ = Out::kBetweenEvents;
};

}  // namespace signalbox::replies
