// A long part is copied once, from the base to its place.

#include "router/dialects/sparse_text.h"

namespace signalbox::dialects {

std::string SparseText::whole(std::string_view base) const {
  std::string out;
  out.reserve(size());
  size_t copied = 0;
  for (const Gap& gap : gaps) {
    out.append(kept, copied, gap.at - copied).append(base.substr(gap.from, gap.bytes));
    copied = gap.at;
  }
  return out.append(kept, copied);
}

size_t SparseText::size() const {
  size_t out = kept.size();
  for (const Gap& gap : gaps) out += gap.bytes;
  return out;
}

}  // namespace signalbox::dialects
