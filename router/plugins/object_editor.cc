// The one subtle part is commas: a removed member takes the comma before it along, except at the
// front, where there is none and it takes the one behind it.

#include "router/plugins/object_editor.h"

#include "base/error.h"
#include "base/json_writer.h"

namespace signalbox::router {

ObjectEditor::ObjectEditor(json::Value object) : object_(object), source_(object.raw()) {
  SIGNALBOX_CHECK(object.is_object());
  for (const json::Member& member : object.members()) slots_.push_back({member});
}

std::vector<json::Value> ObjectEditor::objects(std::string_view name) const {
  std::vector<json::Value> out;
  for (const Slot& slot : slots_) {
    if (slot.member.key != name) continue;
    if (!slot.member.value.is_object()) return {};
    out.push_back(slot.member.value);
  }
  return out;
}

void ObjectEditor::set(std::string_view name, std::string json) {
  bool known = false;
  for (const Slot& slot : slots_) {
    if (slot.member.key != name) continue;
    known = true;
    if (slot.member.value.raw() == json) continue;
    replaced_.push_back({slot.member.value.begin(), slot.member.value.end(), json});
  }
  if (known) return;
  if (!added_.empty()) added_.push_back(',');
  added_ += fmt::format("{}:{}", json::quote(name), json);
}

void ObjectEditor::remove(std::string_view name) {
  for (Slot& slot : slots_) slot.removed |= slot.member.key == name;
}

// The position after the comma that follows a member. Only white space stands between the two.
size_t ObjectEditor::after_comma(size_t slot) const {
  const size_t end = slots_[slot].member.value.end() - object_.begin();
  return object_.begin() + source_.find(',', end) + 1;
}

void ObjectEditor::remove_members(std::vector<Edit>& edits) const {
  bool kept_before = false;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].removed) {
      kept_before = true;
      continue;
    }
    const size_t end = slots_[i].member.value.end();
    if (kept_before) {
      edits.push_back({slots_[i - 1].member.value.end(), end, {}});
    } else {
      const size_t begin = i == 0 ? object_.begin() + 1 : after_comma(i - 1);
      edits.push_back({begin, i + 1 < slots_.size() ? after_comma(i) : end, {}});
    }
  }
}

void ObjectEditor::finish(std::vector<Edit>& edits) {
  bool any_kept = false;
  for (const Slot& slot : slots_) any_kept |= !slot.removed;
  remove_members(edits);
  for (Edit& edit : replaced_) edits.push_back(std::move(edit));
  if (added_.empty()) return;
  const size_t at = slots_.empty() ? object_.begin() + 1 : slots_.back().member.value.end();
  edits.push_back({at, at, any_kept ? fmt::format(",{}", added_) : added_});
}

}  // namespace signalbox::router
