#pragma once
// The events of a streamed reply in the API of its server: what each adds to the text, and the
// events that a check inserts. GuardedStream decides which events go on and when.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_marks.h"

namespace signalbox::replies {

/// The content of one event.
struct EventContent {
  struct OfChoice {
    int64_t choice = 0;
    std::string text = {};
    bool ends = false;
  };
  std::vector<OfChoice> choices = {};
  bool ends = false;        // it ends a choice or the stream
  bool last = false;        // it ends the stream
  bool is_content = false;  // a part of the reply, or its end
  bool calls = false;       // the client is to call a tool
  bool unread = false;      // it has text that is not in `choices`
};

/// One stream. Call advance() once for each read(), when the event has its place in what the client
/// gets: before the call, text() and end() write what may precede the event.
class ReplyEvents {
 public:
  virtual ~ReplyEvents() = default;

  /// Reads the data of an event, which is not empty.
  virtual EventContent read(std::string data) = 0;
  virtual void advance() {}
  /// True if events that follow each other in the reply may not change places.
  virtual bool is_ordered() const { return true; }
  /// True if text() can add to the text of the reply here. Before the reply's end it always can.
  virtual bool takes_text() const { return true; }

  /// An event with marks and no text; "" if the API has no place for them.
  virtual std::string mark(int64_t choice, const std::vector<ReplyMark>& marks) = 0;
  /// The events that show a text to the client.
  virtual std::string text(int64_t choice, std::string_view text,
                           const std::vector<ReplyMark>& marks) = 0;
  /// The events that end a choice before its time, as a content filter does.
  virtual std::string end(int64_t choice, const std::vector<ReplyMark>& marks) = 0;
  /// The event behind the last choice.
  virtual std::string last() = 0;
  /// An event that ends a choice or the stream, changed to fit what text() has added.
  virtual std::string completed(std::string event) { return event; }
};

/// Chunks of chat completions, or of plain completions.
class ChunkEvents final : public ReplyEvents {
 public:
  EventContent read(std::string data) override;
  /// The choices of a chat grow side by side.
  bool is_ordered() const override { return false; }
  std::string mark(int64_t choice, const std::vector<ReplyMark>& marks) override {
    return mark_event(head_, choice, marks);
  }
  std::string text(int64_t choice, std::string_view text,
                   const std::vector<ReplyMark>& marks) override {
    return text_event(head_, choice, text, marks);
  }
  std::string end(int64_t choice, const std::vector<ReplyMark>& marks) override {
    return end_event(head_, choice, marks);
  }
  std::string last() override;

 private:
  ChunkHead head_{"{"};
};

/// Returns the data of an event: its lines joined, without leading white space.
std::string event_data(std::string_view event);
/// True for the data of the event that ends a stream of chunks.
bool is_done(std::string_view data);
/// Reads the data of a named event, which is a JSON object. Otherwise returns nothing and completes
/// `out`: with the end of the stream, or as unread.
std::optional<json::Document> parse_named_event(std::string data, EventContent& out);
/// "event: NAME\ndata: JSON\n\n".
std::string named_event(std::string_view name, std::string_view json);

}  // namespace signalbox::replies
