#pragma once
// Sets and removes members of a JSON object, as edits of its source.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/splice/edit.h"

namespace signalbox::splice {

/// Holds changes only: a list of the members of a dense object would be larger than its source.
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
  /// Returns the member's JSON after the changes so far, of its last occurrence; nullopt if it has
  /// none.
  std::optional<std::string> json_of(std::string_view name) const;
  /// Returns the member's values in the source, without those that were removed or set.
  std::vector<json::Value> values(std::string_view name) const;
  /// Returns the same if all of them are objects, whose members can be set one by one; otherwise
  /// nothing.
  std::vector<json::Value> objects(std::string_view name) const;

  /// Appends the edits for all changes.
  void finish(std::vector<Edit>& edits);

 private:
  struct Change {
    std::string name;
    std::optional<std::string> value;  // nullopt: the member is removed
  };
  const Change* change_of(std::string_view name) const;
  size_t after_comma(size_t member_end) const;

  json::Value object_;
  std::string_view source_;      // text of the object
  std::vector<Change> changes_;  // few, whatever the number of members
};

}  // namespace signalbox::splice
