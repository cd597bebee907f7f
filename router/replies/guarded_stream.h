#pragma once
// A stream of chat completion chunks, or of plain completions, that is watched while it passes.
//
// Events go out as soon as they are whole; only the end waits, for what was said to be checked: the
// events from the one that ends a choice on. Checks are run by the caller, one at a time, wherever
// he likes; what they find comes between two events, since nothing goes out in parts.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_marks.h"
#include "router/replies/reply_windows.h"

namespace signalbox::replies {

/// Not thread-safe, and without a clock.
class GuardedStream {
 public:
  /// A longer event passes unread, and what it says is unchecked.
  static constexpr size_t kEventBytesMax = size_t{1} << 20;
  /// Texts that wait to be checked; what comes then is unchecked.
  static constexpr size_t kWaitingBytesMax = size_t{64} << 10;
  /// Of a reply with more choices the rest is unchecked.
  static constexpr size_t kChoicesMax = 128;

  explicit GuardedStream(const ReplyRules& rules) : rules_(rules) {}

  /// Bytes from upstream; appends what the client gets now, as all that have `out` do.
  void push(std::string_view bytes, std::string& out);
  /// There are no more.
  void finish(std::string& out);
  /// Whether something looks like the end of a sentence that only a pause would tell to be one.
  bool pauses() const;
  /// There is a pause.
  void pause();

  /// What is to be checked now; empty while a check is under way or where there is nothing.
  std::vector<ReplyWindow> take_work();
  /// What was taken has been checked, or was not.
  void done(const ReplyVerdict& verdict, std::string& out);
  void failed(std::string& out);
  /// What is not checked by now will not be. No done() or failed() follows.
  void give_up(std::string& out);

  /// Something waits to be checked, or is being checked.
  bool is_busy() const { return checking_ || !waiting_.empty(); }
  /// Events are held back for that.
  bool holds() const { return !held_.empty(); }
  /// The reply has been ended, and all of it was given; what still comes is left out.
  bool ended() const { return ended_; }
  ReplyOutcome outcome() const;

 private:
  struct Choice {
    explicit Choice(int64_t index) : text(index) {}
    ReplyText text;
    bool begun = false;                      // it has said something
    bool over = false;                       // the client has been told its end
    bool warned = false;                     // in its text
    bool attempted = false;                  // an attempt was told of
    std::vector<std::string> warnings = {};  // events that wait for the end of a word
    uint32_t patience = 0;                   // events of the choice that they still may wait for
  };
  /// What an event says.
  struct Said {
    struct Of {
      int64_t choice;
      std::string text;
      bool ends;
    };
    std::vector<Of> choices;
    bool ends = false;      // a choice, or the stream
    bool last = false;      // the stream
    bool is_chunk = false;  // or the end of the stream
    bool unread = false;    // something that is not among `choices`
  };

  size_t event_end(std::string_view bytes);
  Said read(std::string_view event);
  Said hear(std::string_view event, std::string& out);
  void event(std::string_view event, std::string& out);
  void say(const Said::Of& said, std::string& out);
  Choice* choice_of(int64_t index);
  void sweep(Choice& choice, bool all);
  void take(const ReplyFinding& finding, std::string& out);
  void warn(Choice& choice, std::string event, std::string& out);
  void flush(Choice& choice, std::string& out);
  void insert(std::string_view event, std::string& out);
  void tell_unchecked(std::string& out);
  void end(const ReplyMark& why, std::string& out);
  void close(std::string& out);
  void settle(std::string& out);

  const ReplyRules rules_;
  std::string event_;         // that has begun
  bool line_empty_ = true;    // the line that has begun, so far
  bool return_ = false;       // the last byte was a carriage return
  bool return_ends_ = false;  // which ends the event, with a line feed behind it or without
  bool skipping_ = false;     // the event is too long, and passes
  std::string late_;          // what is to stand behind it

  ChunkHead head_{"{"};
  std::map<int64_t, Choice> choices_;
  std::vector<ReplyWindow> waiting_;
  size_t waiting_bytes_ = 0;
  bool checking_ = false;
  std::string held_;
  std::vector<int64_t> held_ends_;  // choices whose end is in it
  bool grounding_unchecked_ = false, jailbreak_unchecked_ = false;
  bool grounding_told_ = false, jailbreak_told_ = false;  // that it is so
  bool finished_ = false;                                 // upstream
  bool ended_ = false;
  ReplyOutcome outcome_;
};

}  // namespace signalbox::replies
