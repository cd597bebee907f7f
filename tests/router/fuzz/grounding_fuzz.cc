// For arbitrary contexts and answers, the spans lie inside the answer, in order and without
// overlap.

#include <cstdint>

#include "router/safety/grounding/grounding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(all.find('\0'), all.size());
  const std::string_view answer = all.substr(std::min(cut + 1, all.size()));
  static const auto made = grounding::Checker::create({.threshold = 0}, {});
  const grounding::Checker& checker = *made;
  const auto report = checker.check(std::string(all.substr(0, cut)), "", answer);
  SIGNALBOX_CHECK(report || report.error().code == Code::kTooLarge);
  uint32_t last = 0;
  for (const grounding::Span& span : report ? report->spans : decltype(report->spans){}) {
    SIGNALBOX_CHECK(span.begin >= last && span.begin < span.end && span.end <= answer.size());
    SIGNALBOX_CHECK(span.score >= 0 && span.score <= 1);
    last = span.begin;
  }
  return 0;
}
