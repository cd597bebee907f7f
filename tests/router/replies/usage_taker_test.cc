// Streams of chat completions, as servers send them and as clients get them.

#include "router/replies/usage_taker.h"

#include <gtest/gtest.h>

namespace signalbox::replies {
namespace {

std::string taken(std::string_view stream, size_t piece) {
  UsageTaker taker;
  std::string out;
  for (size_t at = 0; at < stream.size(); at += piece)
    taker.push(stream.substr(at, piece), at + piece >= stream.size(), out);
  return out;
}

struct Case {
  std::string_view server, client;
};

const Case kCases[] = {
    {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n"
     "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n",
     "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"},
    {"data: {\"choices\": [1], \"usage\": null}\r\n\r\ndata: {\"choices\":[],\"usage\":{}}\r\n\r\n",
     "data: {\"choices\": [1]}\r\n\r\n"},
    // A text that looks like a usage stays.
    {"data: {\"choices\":[{\"delta\":{\"content\":\",\\\"usage\\\":null\"}}]}\n\n",
     "data: {\"choices\":[{\"delta\":{\"content\":\",\\\"usage\\\":null\"}}]}\n\n"},
    {"data: {\"choices\":[{\"delta\":{\"content\":\"of the usage\"}}]}\n\n",
     "data: {\"choices\":[{\"delta\":{\"content\":\"of the usage\"}}]}\n\n"},
    // A server that sends it with a part of the answer would do so without a request.
    {"data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":1}}\n\n",
     "data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":1}}\n\n"},
    {": comment\n\nevent: error\ndata: {\"error\":{}}\n\n",
     ": comment\n\nevent: error\ndata: {\"error\":{}}\n\n"},
    {"data: {\"choices\":[],\"usage\":{}}", ""},
    {"data: {\"choices\":[],\"usage\"", "data: {\"choices\":[],\"usage\""},
};

TEST(UsageTaker, removes_usage_that_the_client_did_not_request) {
  for (const Case& each : kCases) {
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}})
      EXPECT_EQ(taken(each.server, piece), each.client) << each.server << " in pieces of " << piece;
  }
}

TEST(UsageTaker, holds_no_long_event) {
  UsageTaker taker;
  std::string out;
  const std::string bytes(size_t{2} << 20, 'x');
  taker.push(bytes, false, out);
  EXPECT_EQ(out.size(), bytes.size());
}

}  // namespace
}  // namespace signalbox::replies
