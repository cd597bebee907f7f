// A quote inside a text of JSON is escaped, so a name in quotes that a colon follows is a key,
// never a part of an answer.

#include "router/replies/reply_origin.h"

#include <algorithm>
#include <array>

namespace signalbox::replies {
namespace {

constexpr size_t kOriginBytes = 4096;
constexpr size_t kOriginTailBytes = 1024;
constexpr size_t kNameBytesMax = 128;
constexpr size_t kReasonBytes = 96;  // of a key with its value; longer ones are passed over
constexpr size_t kReasonsMax = 16;
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kDataLine = "data:";

constexpr auto kFinishReasons = std::to_array<std::string_view>(
    {"stop", "length", "tool_calls", "content_filter", "function_call", "abort", "error"});
constexpr auto kStopReasons =
    std::to_array<std::string_view>({"end_turn", "max_tokens", "stop_sequence", "tool_use",
                                     "pause_turn", "refusal", "model_context_window_exceeded"});

bool is_name(std::string_view text) {
  return text.size() <= kNameBytesMax && std::ranges::all_of(text, [](char c) {
           return c > 0x20 && c < 0x7F && c != '"' && c != '\\';
         });
}

/// Reads the members of the outer object of a JSON text that may be cut, and of the object that an
/// event wraps.
class NameReader {
 public:
  NameReader(std::string_view json, ReplyOrigin& out) : json_(json), out_(out) {}

  void read() {
    for (at_ = std::min(json_.find('{'), json_.size()); at_ < json_.size(); ++at_) {
      const char c = json_[at_];
      if (c == '{' || c == '[') ++depth_;
      if (c == '{' && depth_ == 2) in_wrapped_ = key_ == "message" || key_ == "response";
      if ((c == '}' || c == ']') && --depth_ == 0) return;
      if (c == '"' && !read_text()) return;
      if (!out_.model.empty() && !out_.id.empty()) return;
    }
  }

 private:
  /// Leaves `at_` at the closing quote. Returns false if the text is cut.
  bool read_text() {
    const size_t begin = at_ + 1;
    size_t end = begin;
    while (end < json_.size() && json_[end] != '"') end += json_[end] == '\\' ? 2 : 1;
    if (end >= json_.size()) return false;
    const std::string_view text = json_.substr(begin, end - begin);
    at_ = end;
    const size_t next = json_.find_first_not_of(kBlanks, at_ + 1);
    if (next != std::string_view::npos && json_[next] == ':')
      key_ = text;
    else
      take(text);
    return true;
  }

  void take(std::string_view value) {
    if (depth_ != 1 && !(depth_ == 2 && in_wrapped_)) return;
    if (key_ != "model" && key_ != "id") return;
    std::string& member = key_ == "id" ? out_.id : out_.model;
    if (member.empty() && is_name(value)) member = value;
  }

  const std::string_view json_;
  ReplyOrigin& out_;
  size_t at_ = 0, depth_ = 0;
  bool in_wrapped_ = false;
  std::string_view key_;
};

/// Reads the same members from the end of a JSON text whose beginning is missing, backwards,
/// because only from its end on is it known how deep a member lies.
class TailReader {
 public:
  TailReader(std::string_view tail, ReplyOrigin& out) : tail_(tail), out_(out) {}

  void read() {
    size_t at = tail_.find_last_not_of(kBlanks);
    if (at == std::string_view::npos || tail_[at] != '}') return;
    size_t depth = 0;
    for (++at; at-- > 0;) {
      const char c = tail_[at];
      if (c == '}' || c == ']') ++depth;
      if ((c == '{' || c == '[') && --depth == 0) return;
      if (c != '"') continue;
      const size_t begin = opening_quote(at);
      if (begin == std::string_view::npos) return;
      if (depth == 1) take(begin, at);
      at = begin;
    }
  }

 private:
  /// Returns the quote that opens the text that the quote at `end` closes; npos: it is missing, or
  /// a backslash may be missing before it.
  size_t opening_quote(size_t end) const {
    for (size_t at = end; at-- > 0;) {
      if (tail_[at] != '"') continue;
      size_t escapes = 0;
      while (escapes < at && tail_[at - 1 - escapes] == '\\') ++escapes;
      if (escapes == at) return std::string_view::npos;
      if (escapes % 2 == 0) return at;
    }
    return std::string_view::npos;
  }

  /// The text between these quotes is a key if a colon follows; its value was read before.
  void take(size_t begin, size_t end) {
    const std::string_view text = tail_.substr(begin + 1, end - begin - 1);
    const size_t colon = tail_.find_first_not_of(kBlanks, end + 1);
    const bool is_key = colon != std::string_view::npos && tail_[colon] == ':';
    if (!is_key) {
      value_ = text;
      value_at_ = begin;
    } else if (tail_.find_first_not_of(kBlanks, colon + 1) == value_at_ && is_name(value_)) {
      if (text == "model" && out_.model.empty()) out_.model = value_;
      if (text == "id" && out_.id.empty()) out_.id = value_;
    }
  }

  const std::string_view tail_;
  ReplyOrigin& out_;
  std::string_view value_;  // the last text that is not a key
  size_t value_at_ = std::string_view::npos;
};

/// A reason as it is reported; "": the member at the beginning of the text has none, or is cut.
struct Reason {
  std::string_view name;
  size_t end = 0;  // behind the value
};

/// `text` begins behind the quote that closes the key.
Reason reason_in(std::string_view text, bool is_finish) {
  size_t at = text.find_first_not_of(kBlanks);
  if (at == std::string_view::npos || text[at] != ':') return {};
  at = text.find_first_not_of(kBlanks, at + 1);
  if (at == std::string_view::npos || text[at] != '"') return {};
  const size_t end = text.find('"', at + 1);
  if (end == std::string_view::npos) return {};
  const std::string_view value = text.substr(at + 1, end - at - 1);
  const auto is_in = [value](const auto& list) {
    return std::ranges::find(list, value) != list.end();
  };
  if (value.empty()) return {};  // some servers write it into every event but the last
  // Beside a finish_reason, some servers report the text at which they stopped as stop_reason.
  if (!is_finish) return is_in(kStopReasons) ? Reason{value, end + 1} : Reason{};
  return {is_in(kFinishReasons) ? value : "other", end + 1};
}

}  // namespace

void OriginReader::feed(std::string_view bytes) {
  const size_t room = kOriginBytes - head_.size();
  head_ += bytes.substr(0, room);
  if (!events_ && bytes.size() > room) keep_tail(bytes.substr(room));
  if (reasons_.size() == kReasonsMax) return;
  const size_t earlier = last_.size();
  last_ += bytes.substr(0, kReasonBytes);
  read_reasons(last_, earlier, earlier);
  read_reasons(bytes, bytes.size(), 0);
  if (bytes.size() > kReasonBytes)
    last_ = bytes.substr(bytes.size() - kReasonBytes);
  else if (last_.size() > kReasonBytes)
    last_.erase(0, last_.size() - kReasonBytes);
}

void OriginReader::keep_tail(std::string_view bytes) {
  if (bytes.size() >= kOriginTailBytes) tail_.clear();
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kOriginTailBytes));
  if (tail_.size() > kOriginTailBytes) tail_.erase(0, tail_.size() - kOriginTailBytes);
}

/// Takes the reasons whose key begins before one place and whose value ends behind another.
void OriginReader::read_reasons(std::string_view text, size_t begins_before, size_t ends_behind) {
  constexpr std::string_view kReasonEnd = "_reason\"", kFinishWord = "\"finish",
                             kStopWord = "\"stop";
  for (size_t at = text.find(kReasonEnd); at != std::string_view::npos;
       at = text.find(kReasonEnd, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const bool is_finish = before.ends_with(kFinishWord);
    if (!is_finish && !before.ends_with(kStopWord)) continue;
    const size_t begin = at - (is_finish ? kFinishWord.size() : kStopWord.size());
    const size_t value = at + kReasonEnd.size();
    const Reason reason = reason_in(text.substr(value, kReasonBytes), is_finish);
    const size_t end = value + reason.end;
    if (reason.name.empty() || end - begin > kReasonBytes) continue;
    if (begin >= begins_before || end <= ends_behind) continue;
    if (reasons_.size() < kReasonsMax) reasons_.emplace_back(reason.name);
  }
}

ReplyOrigin OriginReader::origin() const {
  ReplyOrigin out;
  out.finish_reasons = reasons_;
  std::string_view rest = head_;
  if (!events_) NameReader(rest, out).read();
  if (!tail_.empty() && (out.model.empty() || out.id.empty())) {
    // A member may begin in the first bytes and end behind them.
    const std::string end = head_.substr(head_.size() - (kOriginTailBytes - tail_.size())) + tail_;
    TailReader(end, out).read();
  }
  while (events_ && !rest.empty() && (out.model.empty() || out.id.empty())) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (rest.starts_with(kDataLine))
      NameReader(rest.substr(kDataLine.size(), end - kDataLine.size()), out).read();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

ReplyOrigin read_origin(std::string_view body) {
  OriginReader reader(false);
  reader.feed(body);
  return reader.origin();
}

}  // namespace signalbox::replies
