// Computes the counts in one pass. A byte inside a code point counts that code point already.

#include "tools/code_points.h"

#include "base/utf8.h"

namespace signalbox::tools {

std::vector<uint32_t> code_points_before(std::string_view text) {
  std::vector<uint32_t> before(text.size() + 1);
  uint32_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end = i + utf8::decode(text, i).bytes;
    for (before[i++] = count++; i < end; ++i) before[i] = count;
  }
  before[text.size()] = count;
  return before;
}

}  // namespace signalbox::tools
