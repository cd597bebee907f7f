// Feeds the parts of arbitrary bytes as rows of the tables of spending. A name that is read is
// written as it was, except for the number of its escapes.

#include <cstdint>
#include <string>
#include <vector>

#include "router/shared_spending/columns.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  std::vector<std::string> cells(1);
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      cells.emplace_back();
    } else {
      cells.back() += static_cast<char>(data[i]);
    }
  }
  for (const std::string& cell : cells) {
    SIGNALBOX_CHECK(shared_spending::unescaped(shared_spending::escaped(cell)) == cell);
    if (const auto bytes = shared_spending::unescaped(cell))
      SIGNALBOX_CHECK(shared_spending::unescaped(shared_spending::escaped(*bytes)) == *bytes);
  }
  if (const auto total = shared_spending::read_total(cells)) SIGNALBOX_CHECK(total->amount >= 0);
  spending::Batch batch;
  if (const auto read = shared_spending::read_request(cells))
    batch.sums.requests[read->first] = read->second;
  if (const auto read = shared_spending::read_shadow(cells))
    batch.sums.shadows[read->first] = read->second;
  SIGNALBOX_CHECK(!shared_spending::text_of(batch).empty());
  return 0;
}
