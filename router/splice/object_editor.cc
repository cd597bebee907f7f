// Commas need care: removing a member also removes the comma before it, except at the front, where
// it removes the comma after it.

#include "router/splice/object_editor.h"

#include <algorithm>

#include "base/error.h"
#include "base/json_writer.h"

namespace signalbox::splice {

ObjectEditor::ObjectEditor(json::Value object) : object_(object), source_(object.raw()) {
  SIGNALBOX_CHECK(object.is_object());
  for (const json::Member& member : object.members()) slots_.push_back({member});
}

std::vector<json::Value> ObjectEditor::values(std::string_view name) const {
  std::vector<json::Value> out;
  for (const Slot& slot : slots_) {
    if (slot.member.key == name && !slot.removed && !slot.replacement)
      out.push_back(slot.member.value);
  }
  return out;
}

std::vector<json::Value> ObjectEditor::objects(std::string_view name) const {
  std::vector<json::Value> out = values(name);
  const bool all = std::all_of(out.begin(), out.end(),
                               [](const json::Value& value) { return value.is_object(); });
  if (!all) out.clear();
  return out;
}

void ObjectEditor::set(std::string_view name, std::string json) {
  bool found = false;
  for (Slot& slot : slots_) {
    if (slot.member.key != name) continue;
    found = true;
    slot.removed = false;
    slot.replacement = json;
  }
  for (auto& [added, value] : added_) {
    if (added != name) continue;
    found = true;
    value = json;
  }
  if (!found) added_.emplace_back(name, std::move(json));
}

void ObjectEditor::remove(std::string_view name) {
  for (Slot& slot : slots_) slot.removed |= slot.member.key == name;
  std::erase_if(added_, [&](const auto& each) { return each.first == name; });
}

bool ObjectEditor::is_set(std::string_view name) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot& slot) {
                       return slot.member.key == name && !slot.removed && slot.replacement;
                     }) ||
         std::any_of(added_.begin(), added_.end(),
                     [&](const auto& each) { return each.first == name; });
}

// Returns the position after the comma that follows a member; only white space can precede that
// comma.
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
  remove_members(edits);
  bool comma = false;
  for (const Slot& slot : slots_) {
    if (slot.removed) continue;
    comma = true;
    const json::Value& value = slot.member.value;
    if (slot.replacement && *slot.replacement != value.raw())
      edits.push_back({value.begin(), value.end(), *slot.replacement});
  }
  std::string members;
  for (const auto& [name, value] : added_) {
    members += fmt::format("{}{}:{}", comma ? "," : "", json::quote(name), value);
    comma = true;
  }
  if (members.empty()) return;
  const size_t at = slots_.empty() ? object_.begin() + 1 : slots_.back().member.value.end();
  edits.push_back({at, at, std::move(members)});
}

}  // namespace signalbox::splice
