// Copies the source once, whatever the number of edits.

#include "router/splice/edit.h"

#include <algorithm>

#include "base/error.h"

namespace signalbox::splice {

std::string apply(std::string_view source, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  size_t size = source.size();
  for (const Edit& edit : edits) size += edit.replacement.size();
  std::string out;
  out.reserve(size);
  size_t at = 0;
  for (const Edit& edit : edits) {
    SIGNALBOX_CHECK(edit.begin >= at && edit.end >= edit.begin && edit.end <= source.size());
    out.append(source.substr(at, edit.begin - at)).append(edit.replacement);
    at = edit.end;
  }
  out.append(source.substr(at));
  return out;
}

}  // namespace signalbox::splice
