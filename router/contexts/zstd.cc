// The adapter to libzstd.

#include "router/contexts/zstd.h"

#include <zstd.h>

namespace signalbox::contexts {

std::string compress(std::string_view text, int level) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level);
  SIGNALBOX_CHECK(ZSTD_isError(size) == 0);
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

// The frame may contain another size than `size`; only `size` is allowed.
Result<std::string> decompress(std::string_view packed, size_t size) {
  std::string out(size, '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0)
    return fail(Code::kCorrupt, "compressed bytes: {}", ZSTD_getErrorName(got));
  if (got != size)
    return fail(Code::kCorrupt, "compressed bytes: {} were unpacked, {} were expected", got, size);
  return out;
}

}  // namespace signalbox::contexts
