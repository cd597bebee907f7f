#pragma once
// The events of OpenAI's responses. All messages together are the text of choice 0. Later events
// repeat the text of earlier ones, so a text counts once.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/replies/reply_events.h"

namespace signalbox::replies {

/// "msg_vsr_...": the id of a message that holds a warning. A server of the API does not get such a
/// message back (dialects/own_parts).
inline constexpr std::string_view kOwnMessageId = "msg_vsr_";
/// A whole message with one text, completed.
std::string own_message(std::string_view id, std::string_view text);

/// The events that end a text repeat it, so no warning can be added to it: warnings become a
/// message of their own at the end. The API has no place for marks.
class ResponseEvents final : public ReplyEvents {
 public:
  /// The texts and items of a longer reply are not kept, and count as unread.
  static constexpr size_t kKeptBytesMax = size_t{1} << 24;
  /// The same for a reply with more texts. Each text is compared with all that came before.
  static constexpr size_t kPartsMax = 256;

  EventContent read(std::string data) override;
  void advance() override;
  bool takes_text() const override { return false; }
  std::string mark(int64_t, const std::vector<ReplyMark>&) override { return {}; }
  std::string text(int64_t choice, std::string_view text,
                   const std::vector<ReplyMark>& marks) override;
  std::string end(int64_t choice, const std::vector<ReplyMark>& marks) override;
  std::string last() override { return {}; }
  std::string completed(std::string event) override;

 private:
  using PartKey = std::pair<int64_t, int64_t>;  // the numbers of its item and of itself
  struct Part {
    std::string text = {};
    bool is_refusal = false, is_done = false;
  };
  struct Item {
    std::string id = {};
    bool is_message = false;
    std::string done = {};  // its JSON once it has ended
  };
  /// The effect of the event that was read last.
  struct Step {
    std::string response = {};  // JSON
    std::vector<std::pair<PartKey, std::string>> texts = {};
    std::optional<PartKey> refusal = {}, done = {};
    std::optional<std::pair<int64_t, Item>> item = {};
    std::optional<int64_t> number = {};
    bool ends = false;
  };

  void read_event(const json::Value& root, std::string_view type, EventContent& out,
                  std::string& text);
  std::string read_item(int64_t number, const json::Value& item);
  std::string new_text(PartKey key, std::string text);
  std::string event(std::string_view type, std::string_view members);
  std::string end_message(int64_t number, Item& item);

  Step step_;
  std::string response_;  // JSON as it was at the beginning
  std::map<PartKey, Part> parts_;
  std::map<int64_t, Item> items_;
  size_t kept_bytes_ = 0;
  std::vector<std::string> own_;  // JSON of the messages with warnings
  int64_t number_ = -1;           // sequence_number of the last event that the client gets
  bool has_ended_ = false;
};

}  // namespace signalbox::replies
