// Reads any bytes as a GGUF file. The result is an error, or tensors with all their bytes, and a
// model directory's files generated from the metadata.

#include <cstdint>
#include <span>

#include "tests/weights/fuzz/read_all.h"
#include "tools/gguf_to_hf.h"
#include "weights/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto file = weights::Gguf::parse(std::as_bytes(std::span(data, size)), "fuzz");
  if (!file) return 0;
  auto list = weights::gguf_tensors(*file);
  if (!list) return 0;
  weights::read_all(*list);
  if (weights::rename_gguf_tensors(*file, *list)) (void)tools::gguf_to_hf(*file, *list);
  return 0;
}
