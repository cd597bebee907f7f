// Lines end in a line feed, with or without a carriage return before it. The format also allows a
// carriage return alone, but no server sends that.

#include "router/dialects/events.h"

namespace signalbox::dialects {
namespace {

constexpr std::string_view kDataField = "data:";

}  // namespace

Result<void> EventReader::push(std::string_view bytes, const Take& take) {
  for (;;) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + data_.size() + piece.size() > kEventBytesMax)
      return fail(Code::kTooLarge, "an event of the reply is longer than {} bytes", kEventBytesMax);
    line_ += piece;
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    Result<void> taken = add_line(line_, take);
    line_.clear();
    if (!taken) return taken;
  }
}

Result<void> EventReader::finish(const Take& take) {
  if (!line_.empty()) {
    SIGNALBOX_TRY_VOID(add_line(line_, take));
    line_.clear();
  }
  return dispatch(take);
}

Result<void> EventReader::add_line(std::string_view line, const Take& take) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return dispatch(take);
  if (!line.starts_with(kDataField)) return {};
  line.remove_prefix(kDataField.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
  return {};
}

Result<void> EventReader::dispatch(const Take& take) {
  if (!has_data_) return {};
  Result<void> taken = take(data_);
  data_.clear();
  has_data_ = false;
  return taken;
}

void append_event(std::string& out, std::string_view name, std::string_view data) {
  if (!name.empty()) out.append("event: ").append(name).append("\n");
  out.append("data: ").append(data).append("\n\n");
}

}  // namespace signalbox::dialects
