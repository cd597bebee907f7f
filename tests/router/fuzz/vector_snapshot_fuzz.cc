// Feeds arbitrary bytes with a valid checksum as a snapshot of vectors. It must be refused, or be
// an index that can be searched and changed. The input follows the first 24 bytes, which declare
// four values per row.

#include <cstdint>
#include <string>

#include "router/vector_index/index.h"
#include "router/vector_index/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::vector_index;
  constexpr std::string_view kBegin("sbvector\1\0\0\0\4\0\0\0\1\0\0\0\0\0\0\0", 24);
  std::string bytes(kBegin);
  bytes.append(reinterpret_cast<const char*>(data), size);
  Checksum sum;
  sum.add(bytes);
  const uint64_t value = sum.value();
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);

  const auto index = VectorIndex::parse({.dim = 4, .graph_rows_min = 2}, bytes);
  if (!index) return 0;
  const float x[] = {1, 0.5f, 0, -1};
  const auto ids = (*index)->ids();
  for (uint64_t tag = 0; tag < 3; ++tag) (void)(*index)->search(tag, x, 10);
  (void)(*index)->add(1'000'000, 0, x);
  for (const uint64_t id : ids) SIGNALBOX_CHECK((*index)->remove(id));
  return 0;
}
