// A long part is copied once, from the base to its place.

#include "router/dialects/sparse_text.h"

namespace signalbox::dialects {

void SparseText::append_to(std::string& out, std::string_view base) const {
  size_t copied = 0;
  for (const Gap& gap : gaps) {
    out.append(kept, copied, gap.at - copied).append(base.substr(gap.from, gap.bytes));
    copied = gap.at;
  }
  out.append(kept, copied);
}

size_t SparseText::size() const {
  size_t out = kept.size();
  for (const Gap& gap : gaps) out += gap.bytes;
  return out;
}

}  // namespace signalbox::dialects
