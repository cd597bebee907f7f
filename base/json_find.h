#pragma once
// Finds several members of an object in one pass over it.

#include <array>
#include <optional>
#include <string_view>

#include "base/json.h"

namespace signalbox::json {

/// Returns the first member of each name in the order of the names, like Value::find().
template <class... Names>
std::array<std::optional<Value>, sizeof...(Names)> find_each(const Value& object,
                                                             const Names&... names) {
  const std::array<std::string_view, sizeof...(Names)> wanted{names...};
  std::array<std::optional<Value>, sizeof...(Names)> out;
  for (const Member& member : object.members()) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!out[i] && member.key == wanted[i]) out[i] = member.value;
    }
  }
  return out;
}

}  // namespace signalbox::json
