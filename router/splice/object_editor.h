#pragma once
// Sets and removes members of a JSON object, as edits of its source.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "router/splice/edit.h"

namespace signalbox::splice {

/// Members that are not named keep their bytes, order and white space. If the object repeats a
/// name, all occurrences are set or removed, because parsers differ in which one they use. If a
/// name is changed several times, the last change applies.
class ObjectEditor {
 public:
  /// Precondition: object.is_object(). Its Document must outlive the editor.
  explicit ObjectEditor(json::Value object);

  /// Sets the value to `json`; adds a missing member at the end.
  void set(std::string_view name, std::string json);
  void remove(std::string_view name);
  /// Returns whether the member has been set by set() and not removed since.
  bool is_set(std::string_view name) const;
  /// Returns the member's values in the source, without those that were removed or set.
  std::vector<json::Value> values(std::string_view name) const;
  /// Returns the same if all of them are objects, whose members can be set one by one; otherwise
  /// nothing.
  std::vector<json::Value> objects(std::string_view name) const;

  /// Appends the edits for all changes.
  void finish(std::vector<Edit>& edits);

 private:
  struct Slot {
    json::Member member;
    bool removed = false;
    std::optional<std::string> replacement = std::nullopt;
  };
  void remove_members(std::vector<Edit>& edits) const;
  size_t after_comma(size_t slot) const;

  json::Value object_;
  std::string_view source_;  // text of the object
  std::vector<Slot> slots_;
  std::vector<std::pair<std::string, std::string>> added_;  // names that the object does not have
};

}  // namespace signalbox::splice
