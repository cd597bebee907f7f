// Outside of its strings, JSON never continues a placeholder: that would be an array that begins
// with a capital letter. So every replacement that happens before the text turns out not to be JSON
// is inside a string.

#include "router/replies/unmask_text.h"

#include <algorithm>

#include "base/json_writer.h"

namespace signalbox::replies {
namespace {

std::vector<pii::Mask> quoted(std::vector<pii::Mask> masks) {
  for (pii::Mask& mask : masks) {
    const std::string quotes = json::quote(mask.original);
    mask.original = quotes.substr(1, quotes.size() - 2);
  }
  return masks;
}

void unmask_within(const json::Value& value, bool is_json, const ReplyMasks& masks,
                   const std::vector<size_t>& done, std::vector<splice::Edit>& edits) {
  if (value.is_string() && value.text().find('[') != std::string_view::npos &&
      !std::ranges::binary_search(done, value.begin())) {
    const std::string text = unmasked_text(value.text(), is_json, masks);
    if (text != value.text()) edits.push_back({value.begin(), value.end(), json::quote(text)});
  }
  for (const json::Value& item : value.items()) unmask_within(item, is_json, masks, done, edits);
  for (const json::Member& member : value.members())
    unmask_within(member.value, member.key == "arguments", masks, done, edits);
}

}  // namespace

ReplyMasks::ReplyMasks(const std::vector<pii::Mask>& masks)
    : in_text(masks), in_json(quoted(masks)) {}

TextUnmasker::TextUnmasker(bool is_json, const ReplyMasks& masks)
    : masks_(&masks), unmasker_(masks.in_json), in_doubt_(!is_json) {}

void TextUnmasker::push(std::string_view text, std::string& out) {
  if (in_doubt_) {
    const size_t json = prefix_.push(text);
    unmasker_.push(text.substr(0, json), out);
    text.remove_prefix(json);
    if (text.empty()) return;
    in_doubt_ = false;
    unmasker_.use(masks_->in_text);
  }
  unmasker_.push(text, out);
}

std::string unmasked_text(std::string_view text, bool is_json, const ReplyMasks& masks) {
  std::string out;
  TextUnmasker unmasker(is_json, masks);
  unmasker.push(text, out);
  unmasker.finish(out);
  return out;
}

void unmask_strings(const json::Value& value, const ReplyMasks& masks,
                    const std::vector<size_t>& done, std::vector<splice::Edit>& edits) {
  unmask_within(value, false, masks, done, edits);
}

}  // namespace signalbox::replies
