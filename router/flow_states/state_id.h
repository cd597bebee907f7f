#pragma once
// The form of the ids of states. A client may send anything as an id, and it becomes the name of a
// file or a key in Redis.

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace signalbox::flow_states {

inline bool is_id(std::string_view id) {
  constexpr size_t kBytesMax = 100;
  const auto is_allowed = [](char c) { return ascii::is_alnum(c) || c == '-'; };
  return !id.empty() && id.size() <= kBytesMax && std::all_of(id.begin(), id.end(), is_allowed);
}

}  // namespace signalbox::flow_states
