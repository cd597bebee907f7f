#pragma once
// Checks a streamed reply while it passes: chunks of chat or plain completions, or the events of
// Anthropic's messages or of OpenAI's responses.
//
// Events are sent as soon as they are complete. Only the end waits for the checks: the events from
// the one that ends a choice on. The caller runs the checks, one at a time, on any thread. Warnings
// go between two events, since no event is sent in parts.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "router/replies/message_events.h"
#include "router/replies/reply_events.h"
#include "router/replies/reply_windows.h"
#include "router/replies/response_events.h"
#include "router/request/native_request.h"

namespace signalbox::replies {

/// Not thread-safe; reads no clock.
class GuardedStream {
 public:
  /// The text of a longer event is unread. It passes, unless a reply that is not checked for
  /// attacks must not pass: then the reply ends before it. The same holds for the limits below.
  static constexpr size_t kEventBytesMax = size_t{1} << 20;
  /// The same for the events of messages and responses, which may repeat a whole reply.
  static constexpr size_t kNativeEventBytesMax = size_t{1} << 24;
  /// The limit of text that waits for a check; text beyond it is unchecked.
  static constexpr size_t kWaitingBytesMax = size_t{64} << 10;
  /// Further choices of a reply are unchecked.
  static constexpr size_t kChoicesMax = 128;

  /// `api`: that of the events; nullopt for chunks.
  explicit GuardedStream(const ReplyRules& rules, std::optional<request::Api> api = std::nullopt);
  /// For tests.
  GuardedStream(const ReplyRules& rules, std::optional<request::Api> api, size_t event_bytes_max);

  /// Takes bytes from upstream and appends to `out` the bytes for the client, as do all methods
  /// with `out`.
  void push(std::string_view bytes, std::string& out);
  /// Call it at the end of the reply.
  void finish(std::string& out);
  /// True if a text may have reached the end of a sentence that only a pause can confirm.
  bool pauses() const;
  /// Call it after a pause in the stream.
  void pause();

  /// Returns the text to check now; empty while a check is running or if there is nothing to check.
  std::vector<ReplyWindow> take_work();
  /// Call one of these after the check of the taken work has finished or failed.
  void done(const ReplyVerdict& verdict, std::string& out);
  void failed(std::string& out);
  /// Stops waiting for checks: all text that is not checked yet stays unchecked. Do not call done()
  /// or failed() afterwards.
  void give_up(std::string& out);

  /// True if text waits for a check or is being checked.
  bool is_busy() const { return checking_ || !waiting_.empty(); }
  /// True if events are held back because of that.
  bool holds() const { return !held_.empty(); }
  /// True if the reply has been ended and everything was sent; further bytes are dropped.
  bool ended() const { return ended_; }
  ReplyOutcome outcome() const;

 private:
  struct Warning {
    std::string text;
    ReplyMark mark;
  };
  struct Choice {
    explicit Choice(int64_t index) : text(index) {}
    ReplyText text;
    bool begun = false;                  // it has had text
    bool over = false;                   // its end has been sent to the client
    bool warned = false;                 // a warning is in its text
    bool jailbreak_marked = false;       // a jailbreak mark has been sent
    std::vector<Warning> warnings = {};  // they wait for the end of a word
    uint32_t events_left = 0;            // further events of the choice that they may wait for
  };
  ReplyEvents& form();
  size_t event_end(std::string_view bytes);
  EventContent read_event(std::string_view event, std::string& out);
  void pass_event(std::string_view event, std::string& out);
  void push_text(const EventContent::OfChoice& content, std::string& out);
  void leave_unread();
  bool withholds_unread() const;
  Choice* choice_of(int64_t index);
  void queue_windows(Choice& choice, bool all);
  void add_finding(const ReplyFinding& finding, std::string& out);
  void warn(Choice& choice, const ReplyMark& mark, std::string& out);
  void send_warnings(Choice& choice, std::string& out, bool at_end = false);
  void insert(std::string_view events, std::string& out);
  int64_t open_choice() const;
  void warn_unchecked(std::string& out);
  void end(const ReplyMark& why, std::string& out);
  void write_last_warnings(std::string& out);
  void release_end(std::string& out);

  const ReplyRules rules_;
  const size_t event_bytes_max_;
  std::string event_;          // bytes of the incomplete event
  bool line_empty_ = true;     // the incomplete line is empty so far
  bool after_return_ = false;  // the last byte was a carriage return
  bool return_ends_ = false;   // that return ends the event, with or without a line feed after it
  bool skipping_ = false;      // the event is too long and passes unread
  std::string after_long_event_;  // events to insert after it

  std::variant<ChunkEvents, MessageEvents, ResponseEvents> form_;
  std::map<int64_t, Choice> choices_;
  std::vector<ReplyWindow> waiting_;
  size_t waiting_bytes_ = 0;
  bool dropped_ = false;  // the end of the reply left text that waited unchecked
  bool checking_ = false;
  std::vector<std::string> held_;   // events
  std::vector<int64_t> held_ends_;  // choices whose end is in held_
  bool grounding_unchecked_ = false, jailbreak_unchecked_ = false;
  bool unread_ = false;                                           // a limit has left text unread
  bool grounding_reported_ = false, jailbreak_reported_ = false;  // has been sent
  bool finished_ = false;                                         // upstream has ended
  bool ended_ = false;
  ReplyOutcome outcome_;
};

}  // namespace signalbox::replies
