// The parts that all streams share, and chunks.

#include "router/replies/reply_events.h"

#include <algorithm>
#include <utility>

#include "router/replies/reply_content.h"
#include "router/replies/reply_pieces.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kData = "data:";
constexpr std::string_view kDone = "[DONE]";
constexpr std::string_view kJsonSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // a stream may begin with one

}  // namespace

std::string event_data(std::string_view event) {
  std::string out;
  if (event.starts_with(kByteOrderMark)) event.remove_prefix(kByteOrderMark.size());
  bool any = false;
  for (size_t at = 0; at < event.size();) {
    const size_t end = std::min(event.find_first_of("\r\n", at), event.size());
    std::string_view line = event.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kData)) continue;
    line.remove_prefix(kData.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (any) out += '\n';
    out += line;
    any = true;
  }
  out.erase(0, std::min(out.find_first_not_of(kJsonSpace), out.size()));
  return out;
}

bool is_done(std::string_view data) {
  return data.starts_with(kDone);
}

std::optional<json::Document> parse_named_event(std::string data, EventContent& out) {
  if (is_done(data)) {
    out.is_content = out.ends = out.last = true;
    return std::nullopt;
  }
  Result<json::Document> event = json::Document::parse(std::move(data));
  if (event && event->root().is_object()) return *std::move(event);
  out.unread = true;
  return std::nullopt;
}

std::string named_event(std::string_view name, std::string_view json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}

EventContent ChunkEvents::read(std::string data) {
  EventContent out;
  if (is_done(data)) {
    out.is_content = out.ends = out.last = true;
    return out;
  }
  const auto chunk = json::Document::parse(std::move(data));
  const auto choices = chunk ? chunk->root().find("choices") : std::nullopt;
  if (!choices || !choices->is_array()) {
    const bool is_object = chunk && chunk->root().is_object();
    out.unread = !is_object || (choices && !choices->is_null());
    return out;
  }
  out.is_content = true;
  head_ = ChunkHead::of(chunk->root());
  for (const json::Value choice : choices->items()) {
    ReplyContent content = content_of(choice, "delta");
    out.choices.push_back({index_member(choice), std::move(content.text), ends_choice(choice)});
    out.ends = out.ends || out.choices.back().ends;
    out.unread = out.unread || content.unread;
  }
  return out;
}

std::string ChunkEvents::last() {
  return fmt::format("data: {}\n\n", kDone);
}

}  // namespace signalbox::replies
