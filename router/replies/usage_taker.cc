// Only events that name a usage are looked into; all others pass as they came.

#include "router/replies/usage_taker.h"

#include <algorithm>

#include "base/json.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kUsageData = "data:";
/// The end of the name; a search that begins with a quote would stop at every name.
constexpr std::string_view kUsageEnd = "usage\"";
/// A longer event passes as it comes.
constexpr size_t kUsageEventBytesMax = size_t{1} << 20;

/// The end of the first event, behind its empty line; npos if it is not complete.
size_t end_of_event(std::string_view text) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    size_t next = at + 1;
    if (text.substr(next).starts_with('\r')) ++next;
    if (text.substr(next).starts_with('\n')) return next + 1;
  }
  return std::string_view::npos;
}

/// True for the event that has the usage and no part of the answer.
bool is_usage(std::string_view event) {
  event.remove_prefix(std::min(kUsageData.size(), event.size()));
  const auto document = json::Document::parse(std::string(event));
  if (!document) return false;
  const auto choices = document->root().find("choices");
  const auto usage = document->root().find("usage");
  return choices && usage && usage->is_object() && choices->raw() == "[]";
}

}  // namespace

// A quote within a text is written with a backslash, so these bytes are never part of one.
void UsageTaker::pass(std::string_view event, std::string& out) {
  const size_t usage =
      event.starts_with(kUsageData) ? event.find(kUsageEnd) : std::string_view::npos;
  if (usage == std::string_view::npos) {
    out += event;
    return;
  }
  for (const std::string_view none :
       {std::string_view(",\"usage\":null"), std::string_view(", \"usage\": null")}) {
    const size_t at = event.find(none);
    if (at == std::string_view::npos) continue;
    out.append(event.substr(0, at)).append(event.substr(at + none.size()));
    return;
  }
  if (!is_usage(event)) out += event;
}

void UsageTaker::push(std::string_view bytes, bool last, std::string& out) {
  rest_ += bytes;
  std::string_view left = rest_;
  for (size_t end = end_of_event(left); end != std::string_view::npos; end = end_of_event(left)) {
    pass(left.substr(0, end), out);
    left.remove_prefix(end);
  }
  if (last) pass(left, out);
  if (!last && left.size() > kUsageEventBytesMax) out += left;
  if (last || left.size() > kUsageEventBytesMax) left = {};
  rest_.erase(0, rest_.size() - left.size());
}

}  // namespace signalbox::replies
