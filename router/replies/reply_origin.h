#pragma once
// Reads from a reply's bytes, as they pass, what its server reports beside the answer: the name of
// the model, the id and the reasons why the choices ended. Only the beginning and the end are kept:
// servers of chats name the model at the beginning, some servers of embeddings behind the vectors.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::replies {

/// "" and empty: the server did not report it where it is expected. The texts are short, printable
/// ASCII without blanks. A reason that no API documents is "other", so that it is never a text of a
/// user. Responses of OpenAI's API have no reasons.
struct ReplyOrigin {
  std::string model, id;
  std::vector<std::string> finish_reasons;

  bool operator==(const ReplyOrigin&) const = default;
};

/// One for each reply.
class OriginReader {
 public:
  /// `events` means that the reply is an event stream. It may be a chat completion, a completion, a
  /// message of Anthropic's API or a response of OpenAI's.
  explicit OriginReader(bool events) : events_(events) {}

  void feed(std::string_view bytes);
  /// Call it once the whole reply has arrived.
  ReplyOrigin origin() const;

 private:
  void keep_tail(std::string_view bytes);
  void read_reasons(std::string_view text, size_t begins_before, size_t ends_behind);

  const bool events_;
  std::string head_;  // the first bytes
  std::string last_;  // the last bytes, in which a reason may have begun
  std::string tail_;  // more of them, if the first bytes are not all; no events
  std::vector<std::string> reasons_;
};

/// The same of a whole reply that is not an event stream.
ReplyOrigin read_origin(std::string_view body);

}  // namespace signalbox::replies
