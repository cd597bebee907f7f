#pragma once
// Changes a body by splicing bytes, so that everything else reaches the upstream as the client
// wrote it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::splice {

/// Replaces source[begin, end); begin == end inserts.
struct Edit {
  size_t begin;
  size_t end;
  std::string replacement;
};

/// Applies all edits at once; positions refer to `source`. Edits at the same position apply in the
/// order given. Overlapping edits are a bug of the caller and abort.
std::string apply(std::string_view source, std::vector<Edit> edits);

}  // namespace signalbox::splice
