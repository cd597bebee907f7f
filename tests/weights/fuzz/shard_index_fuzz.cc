// Reads any bytes as the index of a model in several files. The result is an error, or file names
// in the same directory.

#include <cstdint>
#include <string>

#include "weights/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto index = weights::ShardIndex::parse(
      std::string(reinterpret_cast<const char*>(data), size), "folder/fuzz");
  if (!index) return 0;
  for (const auto& file : index->files()) {
    SIGNALBOX_CHECK(file.lexically_normal().parent_path() == "folder");
  }
  return 0;
}
