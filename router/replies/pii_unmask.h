#pragma once
// Restores originals in a reply, whole or as a stream of events that may be cut anywhere.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/replies/chunk_unmasker.h"
#include "router/replies/event_unmasker.h"
#include "router/replies/unmask_text.h"

namespace signalbox::replies {

/// For a whole reply. If it is JSON, edits the strings with placeholders, otherwise the bytes. What
/// a server has signed or encrypted stays as it is.
std::string unmask_reply(std::string body, const ReplyMasks& masks);

/// For chunks of chat or plain completions as server-sent events, and for the events of messages
/// and responses. Each text of a choice extends over all of its deltas, which may be strings or
/// lists of parts. Only the part of a delta that may still become a placeholder is held back. When
/// the text ends, the held part is sent between two events. Every other string is a text of its
/// own. Lines without placeholders keep their bytes.
class StreamUnmasker {
 public:
  /// The masks must outlive this object.
  explicit StreamUnmasker(const ReplyMasks& masks)
      : masks_(masks), chunks_(masks), events_(masks) {}

  /// Appends the bytes that are final. kTooLarge for an event with more than kEventBytesMax bytes
  /// up to the end of a data line.
  Result<void> push(std::string_view bytes, std::string& out);
  /// Call it at the end of the stream.
  void finish(std::string& out);

  static constexpr size_t kEventBytesMax = size_t{1} << 24;

 private:
  /// The place where the output ends.
  enum class Out : uint8_t { kBetweenEvents, kBetweenLines, kInLine };

  void add_line(std::string_view line, std::string& out);
  std::string unmasked_data(std::string_view line, std::string& before);
  void insert(std::string_view events, std::string& out);

  const ReplyMasks& masks_;
  ChunkUnmasker chunks_;
  EventUnmasker events_;
  std::string begun_;  // earlier lines of an event whose data is still to come
  std::string rest_;   // an incomplete line
  Out at_ = Out::kBetweenEvents;
};

}  // namespace signalbox::replies
