#pragma once
// Restores originals in a text of a reply, either as plain text or with JSON escapes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/json_prefix.h"
#include "router/safety/pii/mask.h"
#include "router/splice/edit.h"

namespace signalbox::replies {

/// The masks for plain text and for JSON inside a string, such as the arguments of tool calls and
/// contents that are JSON.
struct ReplyMasks {
  explicit ReplyMasks(const std::vector<pii::Mask>& masks);
  pii::MaskTable in_text;
  pii::MaskTable in_json;
};

/// For one text that arrives in pieces. While it may be JSON, originals get the escapes that JSON
/// needs. A whole reply is treated in the same way as a stream, which cannot see more, so that both
/// give the same result.
class TextUnmasker {
 public:
  /// The masks must outlive this object. `is_json` marks texts that are JSON by their purpose, even
  /// if they are malformed.
  TextUnmasker(bool is_json, const ReplyMasks& masks);

  /// Appends the bytes that are final.
  void push(std::string_view text, std::string& out);
  /// Appends the bytes that are held back.
  void finish(std::string& out) { unmasker_.finish(out); }
  bool holds_back() const { return unmasker_.holds_back(); }

 private:
  const ReplyMasks* masks_;
  pii::Unmasker unmasker_;
  bool in_doubt_;  // it may still be JSON
  JsonPrefix prefix_;
};

/// The same for a whole text.
std::string unmasked_text(std::string_view text, bool is_json, const ReplyMasks& masks);

/// Edits all strings of `value` except those that begin at one of `done`, which is sorted.
void unmask_strings(const json::Value& value, const ReplyMasks& masks,
                    const std::vector<size_t>& done, std::vector<splice::Edit>& edits);

}  // namespace signalbox::replies
