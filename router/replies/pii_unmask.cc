// Edits replies like requests: JSON bytes that need no change stay as they came.

#include "router/replies/pii_unmask.h"

#include <algorithm>
#include <vector>

#include "router/splice/edit.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kDataField = "data:";

}  // namespace

std::string unmask_reply(std::string body, const ReplyMasks& masks) {
  const auto document = json::Document::parse(body);
  if (!document) return pii::unmasked(body, masks.in_text);
  std::vector<splice::Edit> edits;
  std::vector<size_t> done;
  find_signed_strings(document->root(), done);
  unmask_strings(document->root(), masks, done, edits);
  return edits.empty() ? body : splice::apply(document->source(), std::move(edits));
}

Result<void> StreamUnmasker::push(std::string_view bytes, std::string& out) {
  for (;;) {
    const size_t end = bytes.find('\n');
    if (begun_.size() + rest_.size() + std::min(end, bytes.size()) > kEventBytesMax)
      return fail(Code::kTooLarge, "an event of the reply is longer than {} bytes", kEventBytesMax);
    if (end == std::string_view::npos) break;
    rest_ += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    add_line(rest_, out);
    rest_.clear();
  }
  rest_ += bytes;
  return {};
}

void StreamUnmasker::finish(std::string& out) {
  if (!rest_.empty()) add_line(rest_, out);
  rest_.clear();
  std::string held;
  chunks_.finish(held);
  events_.finish(held);
  insert(held, out);
  out += std::exchange(begun_, {});
}

// `line` includes its line feed, if it has one.
void StreamUnmasker::add_line(std::string_view line, std::string& out) {
  const bool is_blank = line == "\n" || line == "\r\n";
  // Comments are not part of an event. They keep connections alive and must not wait.
  const bool is_comment = line.starts_with(':') && begun_.empty();
  if (!is_blank && !is_comment && !line.starts_with(kDataField) && at_ == Out::kBetweenEvents) {
    begun_ += line;
    return;
  }
  std::string before;
  const std::string edited =
      line.starts_with(kDataField) ? unmasked_data(line, before) : std::string(line);
  insert(before, out);
  out += std::exchange(begun_, {});
  out += edited;
  if (!line.ends_with('\n')) {
    at_ = Out::kInLine;
  } else if (!is_comment) {
    at_ = is_blank ? Out::kBetweenEvents : Out::kBetweenLines;
  }
}

// Returns the line for the client, and in `before` the events that must precede its event.
std::string StreamUnmasker::unmasked_data(std::string_view line, std::string& before) {
  const std::string_view text = line.substr(0, line.find_last_not_of("\r\n") + 1);
  const size_t begin = std::min(text.find_first_not_of(' ', kDataField.size()), text.size());
  const std::string_view data = text.substr(begin);
  if (data == "[DONE]") {
    chunks_.finish(before);
    return std::string(line);
  }
  const auto chunk = json::Document::parse(std::string(data));
  if (!chunk) return pii::unmasked(line, masks_.in_json);
  const bool is_event = chunk->root().find("type") && !chunk->root().find("choices");
  const std::string edited = is_event ? events_.edit(*chunk, before) : chunks_.edit(*chunk, before);
  return fmt::format("{}{}{}", line.substr(0, begin), edited, line.substr(text.size()));
}

// Some servers omit blank lines, at least the last one.
void StreamUnmasker::insert(std::string_view events, std::string& out) {
  if (events.empty()) return;
  if (at_ != Out::kBetweenEvents) out += at_ == Out::kInLine ? "\n\n" : "\n";
  at_ = Out::kBetweenEvents;
  out += events;
}

}  // namespace signalbox::replies
