// Reads arbitrary bytes as labelled lines of every kind. The result must be an error, or rows whose
// spans are in order and lie in their texts.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "tools/eval/rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::tools;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const RowKind kind :
       {RowKind::kLabel, RowKind::kPairLabel, RowKind::kSpans, RowKind::kScore, RowKind::kAnswer}) {
    std::istringstream lines(bytes);
    const auto rows = read_labelled(lines, {.kind = kind, .labels = {{"x", "y"}, {"z", ""}}});
    if (!rows) continue;
    for (const LabelledRow& row : rows->rows) {
      uint32_t end = 0;
      for (const LabelledSpan& span : row.spans) {
        if (span.begin < end || span.end <= span.begin || span.end > row.text.size())
          __builtin_trap();
        end = span.end;
      }
    }
  }
  return 0;
}
