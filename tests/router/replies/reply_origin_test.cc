// Replies of each API, as servers send them, in pieces of any size.

#include "router/replies/reply_origin.h"

#include <gtest/gtest.h>

namespace signalbox::replies {
namespace {

struct Reported {
  std::string_view name;
  bool events;
  std::string bytes;
  ReplyOrigin origin;
};

const Reported kReported[] = {
    {"a chat completion",
     false,
     R"({"id":"chatcmpl-1","object":"chat.completion","model":"m-2024","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"finish_reason":"length"}],"usage":{}})",
     {"m-2024", "chatcmpl-1", {"stop", "length"}}},
    {"a chat completion with blanks and a long answer",
     false,
     R"({"id": "c", "model" : "m", "choices": [{"message": {"content": ")" +
         std::string(9000, 'x') + R"("}, "finish_reason" : "tool_calls"}]})",
     {"m", "c", {"tool_calls"}}},
    {"an answer that writes about replies",
     false,
     R"({"choices":[{"message":{"id":"no","model":"no","content":"\"finish_reason\":\"stop\",\"model\":\"no\",\"id\":\"no\""},"finish_reason":"length"}],"model":"m","id":"c"})",
     {"m", "c", {"length"}}},
    {"reasons that no API documents",
     false,
     R"({"model":"m","choices":[{"finish_reason":"the user's secret","stop_reason":"the user's secret"}]})",
     {"m", "", {"other"}}},
    {"a stream with an empty reason in every event but the last",
     true,
     "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"\"}]}\n\n"
     "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
     {"", "", {"stop"}}},
    {"names that fit into no header",
     false,
     R"({"id":")" + std::string(129, 'a') +
         R"(","model":"a b","choices":[{"finish_reason":null}]})",
     {}},
    {"a name that a server repeats differently",
     false,
     R"({"model":"m","model":"n"})",
     {"m", "", {}}},
    {"a message",
     false,
     R"({"model":"claude","id":"msg_1","type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","stop_sequence":null})",
     {"claude", "msg_1", {"end_turn"}}},
    {"a response",
     false,
     R"({"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"id":"msg_1"}]})",
     {"m", "resp_1", {}}},
    {"a stream of chat completions",
     true,
     "data: {\"id\":\"\",\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n"
     "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\"},"
     "\"finish_reason\":null}]}\n\n"
     "data: "
     "{\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":1,\"finish_reason\":\"stop\"}]}\n\n"
     "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"finish_reason\":\"length\"}]}"
     "\n\ndata: [DONE]\n\n",
     {"m", "c", {"stop", "length"}}},
    {"a stream of a message",
     true,
     "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\","
     "\"model\":\"claude\",\"content\":[],\"stop_reason\":null}}\r\n\r\n"
     "event: message_delta\r\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
     "\"max_tokens\"}}\r\n\r\n",
     {"claude", "msg_1", {"max_tokens"}}},
    {"a stream of a response",
     true,
     "event: response.created\ndata: "
     "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\","
     "\"instructions\":\"be brief\",\"model\":\"m\"}}\n\n",
     {"m", "resp_1", {}}},
    {"embeddings whose model stands behind the vectors",
     false,
     R"({"object": "list", "data": [{"index": 0, "embedding": [)" + std::string(9000, '1') +
         R"(]}], "model" : "e-1", "usage": {"prompt_tokens": 5}} )",
     {"e-1", "", {}}},
    {"a model of which the first bytes have only a part",
     false,
     R"({"data":[")" + std::string(4075, 'A') + R"("],"model":"e-1","usage":{"prompt_tokens":5}})",
     {"e-1", "", {}}},
    {"names of members of members behind the vectors",
     false,
     R"({"data":[")" + std::string(9000, 'A') +
         R"(",{"model":"no"}],"usage":{"model":"no","id":"no"},"note":"model","id":"r","meta":[{"id":"no"}]})",
     {"", "r", {}}},
    {"a text at the end that writes about replies",
     false,
     R"({"data":[")" + std::string(9000, 'A') +
         R"("],"text":"\\\"model\":\"no\",\"x\\","model":"e"})",
     {"e", "", {}}},
    {"a text that is longer than what is kept of the end",
     false,
     R"({"data":[")" + std::string(9000, 'A') + R"("],"model":"e","text":")" +
         std::string(2000, 'A') + R"("})",
     {}},
    {"no JSON", false, "<html>model</html>", {}},
    {"a JSON text that is cut", false, R"({"id":"c","model":"m)", {"", "c", {}}},
    {"nothing", true, "", {}},
};

ReplyOrigin read_pieces(const Reported& each, size_t piece) {
  OriginReader reader(each.events);
  for (size_t at = 0; at < each.bytes.size(); at += piece)
    reader.feed(std::string_view(each.bytes).substr(at, piece));
  return reader.origin();
}

TEST(OriginReader, reads_what_each_api_reports) {
  for (const Reported& each : kReported) {
    for (const size_t piece : {1U, 2U, 7U, 95U, 96U, 97U, 20'000U}) {
      const ReplyOrigin found = read_pieces(each, piece);
      EXPECT_EQ(found.model, each.origin.model) << each.name << ", by " << piece;
      EXPECT_EQ(found.id, each.origin.id) << each.name << ", by " << piece;
      EXPECT_EQ(found.finish_reasons, each.origin.finish_reasons) << each.name << ", by " << piece;
    }
  }
}

TEST(OriginReader, keeps_a_bounded_number_of_reasons) {
  std::string body = R"({"choices":[)";
  for (int i = 0; i < 100; ++i) body += R"({"finish_reason":"stop"},)";
  EXPECT_EQ(read_origin(body).finish_reasons.size(), 16U);
}

}  // namespace
}  // namespace signalbox::replies
