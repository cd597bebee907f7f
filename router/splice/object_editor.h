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

/// Members that are not named keep their bytes, order and white space. A name that the object
/// repeats is set, or removed, everywhere, since parsers differ in which of the two they take. Of
/// several changes to a name the last one holds.
class ObjectEditor {
 public:
  /// Precondition: object.is_object(). Its Document outlives the editor.
  explicit ObjectEditor(json::Value object);

  /// The value becomes `json`; a missing member is added at the end.
  void set(std::string_view name, std::string json);
  void remove(std::string_view name);
  /// Whether set() holds for a member.
  bool is_set(std::string_view name) const;
  /// The member's values as the source has them, without those that were removed or set.
  std::vector<json::Value> values(std::string_view name) const;
  /// The same if all are objects, whose members can be set one by one; nothing otherwise.
  std::vector<json::Value> objects(std::string_view name) const;

  /// Appends what set() and remove() asked for.
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
  std::string_view source_;  // of the object, from its first byte
  std::vector<Slot> slots_;
  std::vector<std::pair<std::string, std::string>> added_;  // names that the object has not
};

}  // namespace signalbox::splice
