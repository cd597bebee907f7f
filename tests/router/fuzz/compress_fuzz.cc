// Feeds arbitrary bytes as prompts. A skeleton must consist of pieces of the prompt, in order, and
// must fit the limit. The first bytes choose the options.

#include <cstdint>

#include "base/error.h"
#include "tests/router/compress/skeleton_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  namespace compress = signalbox::compress;
  if (size < 4) return 0;
  compress::Options options;
  options.tokens_max = data[0];
  options.first = data[1] % 8;
  options.last = data[2] % 8;
  options.textrank = data[3] % 4;
  const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
  const auto skeleton = compress::shorten(text, options);
  if (!skeleton) return 0;
  const std::string wrong = compress::what_is_wrong(text, options, *skeleton);
  SIGNALBOX_CHECK(wrong.empty());
  SIGNALBOX_CHECK(!skeleton->kept.empty() || text.find_first_not_of(" \t\r\n\v\f") == text.npos);
  return 0;
}
