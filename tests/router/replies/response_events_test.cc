// The limit on the texts of one response. The orders of its events are explored elsewhere.

#include "router/replies/response_events.h"

#include <gtest/gtest.h>

namespace signalbox::replies {
namespace {

/// The first event of a response that has these texts already.
std::string begun(size_t texts) {
  std::string parts;
  for (size_t i = 0; i < texts; ++i)
    parts += fmt::format(R"({}{{"type":"output_text","text":"{}"}})", i == 0 ? "" : ",", i);
  return fmt::format(
      R"({{"type":"response.in_progress","response":{{"output":[{{"type":"message","content":[{}]}}]}}}})",
      parts);
}

TEST(ResponseEvents, more_texts_than_are_compared_count_as_unread) {
  ResponseEvents most, more;
  EXPECT_FALSE(most.read(begun(ResponseEvents::kPartsMax)).unread);
  EXPECT_TRUE(more.read(begun(ResponseEvents::kPartsMax + 1)).unread);
  most.advance();
  const auto delta = [](size_t part) {
    return fmt::format(
        R"({{"type":"response.output_text.delta","output_index":0,"content_index":{},"delta":"x"}})",
        part);
  };
  EXPECT_FALSE(most.read(delta(0)).unread);
  most.advance();
  EXPECT_TRUE(most.read(delta(ResponseEvents::kPartsMax)).unread);
}

}  // namespace
}  // namespace signalbox::replies
