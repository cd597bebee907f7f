// Feeds arbitrary bytes with a valid checksum as a file of cached answers. It must be refused as a
// whole, or be a store that can be queried, changed and written again.

#include <cstdint>
#include <string>

#include "router/cache/memory_store.h"
#include "router/vector_index/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::cache;
  std::string bytes("sbanswer\1\0\0\0", 12);
  bytes.append(reinterpret_cast<const char*>(data), size);
  signalbox::vector_index::Checksum sum;
  sum.add(bytes);
  const uint64_t value = sum.value();
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);

  const Clocks now{TimePoint(std::chrono::hours(1)),
                   std::chrono::system_clock::time_point(std::chrono::hours(1))};
  MemoryStore store({.entries = 4});
  const auto entries = store.parse(bytes, now);
  if (!entries) {
    SIGNALBOX_CHECK(store.figures().entries == 0);
    return 0;
  }
  SIGNALBOX_CHECK(*entries <= 4);
  const float x[] = {1, 0.5f, 0, -1};
  (void)store.nearest("p", x, -1, 10, now.steady);
  const auto all = store.list({}, 10, now.steady);
  SIGNALBOX_CHECK(all && all->size() <= *entries);
  SIGNALBOX_CHECK(store.remove_all({}, now.steady) && store.figures().bytes == 0);
  return 0;
}
