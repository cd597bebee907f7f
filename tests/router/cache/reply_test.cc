// Streams must be assembled correctly wherever they are split, and completions must be converted
// back to streams.

#include "router/cache/reply.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace signalbox::cache {
namespace {

constexpr std::string_view kStream =
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\","
    "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
    "\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\r\n\r\n"
    ": a comment\n\n"
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo \\\"x\\\"\"},"
    "\"finish_reason\":null}]}\n\n"
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\n"
    "data: [DONE]\n\n";

constexpr std::string_view kWhole =
    R"({"object":"chat.completion","created":7,"id":"c1","model":"m","choices":[{"index":0,)"
    R"("message":{"role":"assistant","content":"Hello \"x\""},"logprobs":null,)"
    R"("finish_reason":"stop"}],"usage":{"total_tokens":3}})";

Result<std::string> assemble(std::string_view stream, size_t step, uint64_t bytes_max = 1000) {
  EventAssembler assembler(bytes_max);
  for (size_t at = 0; at < stream.size(); at += step) {
    auto pushed = assembler.push(stream.substr(at, step));
    if (!pushed) return tl::unexpected<Error>(std::move(pushed).error());
  }
  return assembler.finish();
}

std::string events(std::string_view whole, bool with_usage) {
  const auto document = json::Document::parse(std::string(whole));
  EXPECT_TRUE(document);
  return document ? events_of(document->root(), with_usage) : "";
}

TEST(CacheReply, is_assembled_from_a_stream_cut_anywhere) {
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, kStream.size()}) {
    const auto whole = assemble(kStream, step);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(*whole, kWhole);
  }
}

TEST(CacheReply, streams_the_stored_reply) {
  const std::string with = events(kWhole, true), without = events(kWhole, false);
  EXPECT_EQ(*assemble(with, 5), kWhole);
  EXPECT_NE(with.find("\"choices\":[],\"usage\":{\"total_tokens\":3}"), std::string::npos) << with;
  EXPECT_EQ(without.find("usage"), std::string::npos) << without;
  EXPECT_TRUE(without.ends_with("data: [DONE]\n\n"));
}

TEST(CacheReply, streams_a_long_text_in_pieces_that_end_between_characters) {
  constexpr size_t kEventMax = (size_t{1} << 20) + 1000;
  std::string text = "x";
  while (text.size() < (size_t{3} << 20)) text += "\u20AC";
  const std::string whole = fmt::format(
      R"({{"object":"chat.completion","id":"c","choices":[{{"index":0,"message":{{"role":)"
      R"("assistant","content":"{}"}},"logprobs":null,"finish_reason":"stop"}}]}})",
      text);
  const std::string stream = events(whole, false);
  EXPECT_TRUE(utf8::is_valid(stream));
  size_t longest = 0;
  for (size_t at = 0, end = 0; (end = stream.find("\n\n", at)) != std::string::npos; at = end + 2) {
    EXPECT_TRUE(utf8::is_valid(std::string_view(stream).substr(at, end - at)));
    longest = std::max(longest, end - at);
  }
  EXPECT_LT(longest, kEventMax);
  EXPECT_EQ(*assemble(stream, 65536, text.size()), whole);
}

TEST(CacheReply, sends_log_probabilities_once_with_a_long_text) {
  const std::string stream = events(
      fmt::format(R"({{"choices":[{{"index":0,"message":{{"content":"{}"}},"logprobs":{{"content":)"
                  R"([]}},"finish_reason":"stop"}}]}})",
                  std::string(size_t{3} << 20, 'x')),
      false);
  const size_t first = stream.find(R"("logprobs":{"content")");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(stream.find(R"("logprobs":{"content")", first + 1), std::string::npos);
}

TEST(CacheReply, keeps_calls_of_tools) {
  const std::string stream =
      "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
      "\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\","
      "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
      "\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
      "\"arguments\":\":1}\"}},{\"index\":1,\"id\":\"call_2\",\"function\":{\"name\":\"g\","
      "\"arguments\":\"{}\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
      "data: [DONE]\n\n";
  const auto whole = assemble(stream, 11);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_NE(
      whole->find(
          R"("content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f",)"
          R"("arguments":"{\"a\":1}"}},{"id":"call_2","type":"function","function":{"name":"g",)"
          R"("arguments":"{}"}}])"),
      std::string::npos)
      << *whole;
  EXPECT_EQ(*assemble(events(*whole, true), 3), *whole);
}

TEST(CacheReply, keeps_a_repeated_name_once_and_skips_events_without_data) {
  const auto piece = [](std::string_view arguments) {
    return fmt::format(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"a\","
        "\"function\":{{\"name\":\"f\",\"arguments\":\"{}\"}}}}]}}}}]}}\n\n",
        arguments);
  };
  const auto whole =
      assemble(piece("{") + "data:\n\ndata: \n\n" + piece("}") +
                   "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: "
                   "[DONE]\n\n",
               11);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_NE(whole->find(R"("function":{"name":"f","arguments":"{}"})"), std::string::npos)
      << *whole;
}

TEST(CacheReply, keeps_every_choice_and_all_members_of_its_message) {
  const std::string stream = events(R"({"id":"c","choices":[
      {"index":1,"message":{"role":"assistant","content":"b","refusal":null,"annotations":[1,
       2]},"finish_reason":"stop"},
      {"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"r"},
       "finish_reason":"stop","logprobs":{"content":[]}}]})",
                                    true);
  EXPECT_NE(stream.find("\"annotations\":[1,"), std::string::npos) << stream;
  EXPECT_NE(stream.find("\"logprobs\":{\"content\":[]}"), std::string::npos) << stream;
  for (size_t at = stream.find("\n"); at != std::string::npos; at = stream.find("\n", at + 2))
    EXPECT_EQ(stream.substr(at, 2), "\n\n") << "an event has one line: " << stream;
}

TEST(CacheReply, is_not_kept_unless_it_ended_well) {
  const auto end = [](std::string_view reason) {
    return fmt::format(R"({{"choices":[{{"message":{{"content":"a"}},"finish_reason":{}}}]}})",
                       reason);
  };
  EXPECT_TRUE(check_keepable(end("\"stop\"")));
  EXPECT_TRUE(check_keepable(end("\"tool_calls\"")));
  for (const std::string& body :
       {end("\"length\""), end("\"content_filter\""), end("null"), end("1"), std::string("{}"),
        std::string("[]"), std::string("oops"), std::string(R"({"choices":[]})"),
        std::string(R"({"choices":[{"finish_reason":"stop"}]})"),
        std::string(R"({"error":{},"choices":[{"message":{},"finish_reason":"stop"}]})")})
    EXPECT_FALSE(check_keepable(body)) << body;
}

TEST(CacheReply, is_not_kept_if_the_stream_breaks_or_cannot_be_read) {
  const std::string stream(kStream);
  EXPECT_FALSE(assemble(stream.substr(0, stream.find("data: [DONE]")), 9));
  EXPECT_FALSE(assemble(stream.substr(0, stream.size() - 2), 9)) << "the last line has no end";
  EXPECT_FALSE(assemble("data: {\"error\":{}}\n\n", 9));
  EXPECT_FALSE(assemble("data: oops\n\n", 9));
  EXPECT_FALSE(assemble("event: x\ndata: {\"choices\":[]}\n\n", 9));
  EXPECT_FALSE(assemble("data: {\"choices\":[{\"delta\":{\"audio\":{}}}]}\n\n", 9));
  EXPECT_FALSE(assemble("data: {\"choices\":[{\"delta\":{},\"logprobs\":{}}]}\n\n", 9));
  EXPECT_FALSE(assemble("data: {\"choices\":[{\"delta\":{\"content\":1}}]}\n\n", 9));
  EXPECT_FALSE(assemble(stream, 9, 4)) << "more text than there is room";
  EXPECT_FALSE(assemble(std::string(200'000, 'x'), 1000));
  EXPECT_FALSE(assemble(stream + "data: {\"choices\":[]}\n\n", 9));
}

}  // namespace
}  // namespace signalbox::cache
