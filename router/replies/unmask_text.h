#pragma once
// Originals back into a text of a reply, as a text has them or as JSON does.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/json_prefix.h"
#include "router/safety/pii/mask.h"
#include "router/splice/edit.h"

namespace signalbox::replies {

/// Masks as texts have them, and as JSON within a string has them: arguments of calls of tools, and
/// contents that are JSON.
struct ReplyMasks {
  explicit ReplyMasks(const std::vector<pii::Mask>& masks);
  pii::MaskTable in_text;
  pii::MaskTable in_json;
};

/// Of one text that comes in pieces. As far as it may be JSON by what is there, originals have the
/// escapes that JSON needs: where a stream cannot know more, a whole reply is not told more, so
/// that both say the same.
class TextUnmasker {
 public:
  /// The masks outlive it. What is JSON by what it is there for may be wrong JSON, too.
  TextUnmasker(bool is_json, const ReplyMasks& masks);

  /// Appends what is sure by now.
  void push(std::string_view text, std::string& out);
  /// Appends what is held back.
  void finish(std::string& out) { unmasker_.finish(out); }
  bool holds_back() const { return unmasker_.holds_back(); }

 private:
  const ReplyMasks* masks_;
  pii::Unmasker unmasker_;
  bool in_doubt_;  // whether it is JSON
  JsonPrefix prefix_;
};

/// The same of a whole one.
std::string unmasked_text(std::string_view text, bool is_json, const ReplyMasks& masks);

/// All strings of `value` but those that begin at `done`, sorted.
void unmask_strings(const json::Value& value, const ReplyMasks& masks,
                    const std::vector<size_t>& done, std::vector<splice::Edit>& edits);

}  // namespace signalbox::replies
