// Replies are edited as requests are: bytes of JSON that need no change stay as they came.

#include "router/plugins/pii_unmask.h"

#include <algorithm>
#include <vector>

#include "router/plugins/edit.h"

namespace signalbox::router {

std::string unmask_reply(std::string body, const ReplyMasks& masks) {
  const auto document = json::Document::parse(body);
  if (!document) return unmasked(body, masks.in_text);
  std::vector<Edit> edits;
  unmask_strings(document->root(), masks, {}, edits);
  return edits.empty() ? body : apply(document->source(), std::move(edits));
}

Result<void> StreamUnmasker::push(std::string_view bytes, std::string& out) {
  for (;;) {
    const size_t end = bytes.find('\n');
    if (rest_.size() + std::min(end, bytes.size()) > kLineBytesMax)
      return fail(Code::kTooLarge, "an event of the reply is longer than {} bytes", kLineBytesMax);
    if (end == std::string_view::npos) break;
    rest_ += bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    line(rest_, out);
    rest_.clear();
  }
  rest_ += bytes;
  return {};
}

void StreamUnmasker::finish(std::string& out) {
  if (!rest_.empty()) line(rest_, out);
  rest_.clear();
  chunks_.finish(out);
}

// With its line feed, if it has one.
void StreamUnmasker::line(std::string_view line, std::string& out) {
  constexpr std::string_view kData = "data:";
  const size_t last = line.find_last_not_of("\r\n");
  const std::string_view text = line.substr(0, last + 1);
  if (!text.starts_with(kData)) {
    out += line;
    return;
  }
  const size_t begin = std::min(text.find_first_not_of(' ', kData.size()), text.size());
  const std::string_view data = text.substr(begin);
  if (data == "[DONE]") {
    chunks_.finish(out);
    out += line;
    return;
  }
  const auto chunk = json::Document::parse(std::string(data));
  if (!chunk) {
    out += unmasked(line, masks_.in_json);
    return;
  }
  const std::string edited = chunks_.edit(*chunk, out);
  out += line.substr(0, begin);
  out += edited;
  out += line.substr(text.size());
}

}  // namespace signalbox::router
