// Commas need care: removing a member also removes the comma before it, except at the front, where
// it removes the comma after it.

#include "router/splice/object_editor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/json_writer.h"

namespace signalbox::splice {

namespace {

// Neighbours that are removed make one edit, so that a name that is repeated often makes few.
void remove_range(size_t begin, size_t end, std::vector<Edit>& edits) {
  if (!edits.empty() && edits.back().end == begin && edits.back().replacement.empty()) {
    edits.back().end = end;
  } else {
    edits.push_back({begin, end, {}});
  }
}

}  // namespace

ObjectEditor::ObjectEditor(json::Value object) : object_(object), source_(object.raw()) {
  SIGNALBOX_CHECK(object.is_object());
}

const ObjectEditor::Change* ObjectEditor::change_of(std::string_view name) const {
  const auto found = std::ranges::find(changes_, name, &Change::name);
  return found == changes_.end() ? nullptr : &*found;
}

std::optional<std::string> ObjectEditor::json_of(std::string_view name) const {
  if (const Change* const change = change_of(name)) return change->value;
  const std::vector<json::Value> all = values(name);
  return all.empty() ? std::nullopt : std::optional(std::string(all.back().raw()));
}

std::vector<json::Value> ObjectEditor::values(std::string_view name) const {
  std::vector<json::Value> out;
  if (change_of(name) != nullptr) return out;
  for (const json::Member& member : object_.members()) {
    if (member.key == name) out.push_back(member.value);
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
  const auto found = std::ranges::find(changes_, name, &Change::name);
  if (found != changes_.end() && found->value) {
    found->value = std::move(json);
    return;
  }
  if (found != changes_.end()) changes_.erase(found);
  changes_.push_back({std::string(name), std::move(json)});
}

void ObjectEditor::remove(std::string_view name) {
  std::erase_if(changes_, [&](const Change& each) { return each.name == name; });
  changes_.push_back({std::string(name), std::nullopt});
}

bool ObjectEditor::is_set(std::string_view name) const {
  const Change* const change = change_of(name);
  return change != nullptr && change->value;
}

// Returns the position after the comma that follows a member, or the member's end if it is the
// last one; only white space can precede that comma.
size_t ObjectEditor::after_comma(size_t member_end) const {
  const size_t at = source_.find_first_of(",}", member_end - object_.begin());
  return source_[at] == ',' ? object_.begin() + at + 1 : member_end;
}

void ObjectEditor::finish(std::vector<Edit>& edits) {
  std::vector<bool> is_found(changes_.size());
  std::vector<Edit> own;
  bool is_any_kept = false;
  size_t end = object_.begin() + 1;  // of the member before
  size_t next = end;                 // after its comma
  for (const json::Member& member : object_.members()) {
    const json::Value& value = member.value;
    const Change* const change = change_of(member.key);
    const size_t begin = is_any_kept ? end : next;
    end = value.end();
    next = after_comma(end);
    if (change != nullptr) is_found[static_cast<size_t>(change - changes_.data())] = true;
    if (change != nullptr && !change->value) {
      remove_range(begin, is_any_kept ? end : next, own);
      continue;
    }
    is_any_kept = true;
    if (change != nullptr && *change->value != value.raw())
      own.push_back({value.begin(), end, *change->value});
  }
  std::string added;
  for (size_t i = 0; i < changes_.size(); ++i) {
    if (is_found[i] || !changes_[i].value) continue;
    added += fmt::format("{}{}:{}", is_any_kept ? "," : "", json::quote(changes_[i].name),
                         *changes_[i].value);
    is_any_kept = true;
  }
  if (!added.empty()) own.push_back({end, end, std::move(added)});
  std::move(own.begin(), own.end(), std::back_inserter(edits));
}

}  // namespace signalbox::splice
