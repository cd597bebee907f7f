// Tests what routing reads from chat requests, and which requests are refused.

#include "router/request/chat_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace signalbox::request {
namespace {

std::string message_of(std::string body) {
  const auto request = ChatRequest::parse(std::move(body));
  return request ? "accepted" : request.error().message;
}

TEST(ChatRequest, reads_the_model_and_the_text_of_messages) {
  auto parsed = ChatRequest::parse(R"({"stream":true,"x":[1],"messages":[
    {"role":"system","content":"Be br\u0069ef."},
    {"role":"user","content":"first"},
    {"role":"assistant","content":null,"tool_calls":[]},
    {"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{}},{"type":"text","text":"two"}]},
    {"role":"tool"}],"model":"auto"})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const ChatRequest request = std::move(*parsed);
  EXPECT_EQ(request.model, "auto");
  EXPECT_TRUE(request.stream);
  ASSERT_EQ(request.messages.size(), 5u);
  EXPECT_EQ(request.messages[0].text, "Be brief.");
  EXPECT_EQ(request.messages[2].text, "");
  EXPECT_EQ(request.user_text(), "one\ntwo");
}

TEST(ChatRequest, does_not_copy_a_single_text) {
  auto parsed =
      ChatRequest::parse(R"({"model":"a","messages":[{"role":"user","content":"plain text"},
    {"role":"user","content":[{"type":"text","text":"the only part"}]}]})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const ChatRequest request = std::move(*parsed);
  const std::string_view source = request.document.source();
  EXPECT_EQ(request.messages[0].text.data(), source.data() + source.find("plain text"));
  EXPECT_EQ(request.messages[1].text.data(), source.data() + source.find("the only part"));
}

TEST(ChatRequest, keeps_joined_texts_of_every_length) {
  std::string body = R"({"model":"a","messages":[)";
  for (size_t bytes = 0; bytes < 6000; bytes += 7) {
    const std::string part = R"({"type":"text","text":")" +
                             std::string(bytes, static_cast<char>('a' + bytes % 26)) + "\"}";
    body += R"({"role":"user","name":"the author","content":[)" + part + "," + part + "]},";
  }
  auto parsed = ChatRequest::parse(body + R"({"role":"user"}]})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const ChatRequest request = std::move(*parsed);
  for (size_t bytes = 0; bytes < 6000; bytes += 7) {
    const std::string part(bytes, static_cast<char>('a' + bytes % 26));
    const ChatMessage& message = request.messages[bytes / 7];
    ASSERT_EQ(message.text, bytes == 0 ? "" : part + "\n" + part);
    ASSERT_EQ(message.aside, "the author");
  }
}

TEST(ChatRequest, refuses_more_messages_and_members_than_it_may_hold) {
  const auto repeated = [](std::string_view part, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += part;
    return out;
  };
  const std::string message = R"({"role":"user"})";
  const auto messages = [&](size_t count) {
    return ChatRequest::parse(R"({"model":"a","messages":[)" + repeated(message + ",", count - 1) +
                              message + "]}");
  };
  EXPECT_TRUE(messages(kMessagesMax));
  const auto refused = messages(kMessagesMax + 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTooLarge);
  EXPECT_EQ(refused.error().message, "messages: expected at most 65536 messages, found 65537");
  const auto members = [&](size_t count) {
    return ChatRequest::parse(R"({"model":"a","messages":[])" + repeated(R"(,"x":1)", count - 2) +
                              "}");
  };
  EXPECT_TRUE(members(kMembersMax));
  ASSERT_FALSE(members(kMembersMax + 1));
  EXPECT_EQ(members(kMembersMax + 1).error().message,
            "the request: expected at most 65536 members, found 65537");
}

// Guards must see everything that a server might show to its model, whatever its name.
TEST(ChatRequest, reads_texts_of_unknown_parts_and_roles) {
  const auto text = [](const char* messages) {
    const auto request =
        ChatRequest::parse(std::string("{\"model\":\"a\",\"messages\":") + messages + "}");
    return request ? std::string(request->user_text()) : request.error().message;
  };
  EXPECT_EQ(text(R"([{"role":"user","content":[{"type":"text","text":"a"},)"
                 R"({"type":"input_text","text":"b"},{"type":"refusal","refusal":"c"}]}])"),
            "a\nb\nc");
  EXPECT_EQ(text(R"([{"role":"User","content":"a"}])"), "a");
  EXPECT_EQ(text(R"([{"role":"user","content":"a"},{"role":"user","content":""}])"), "a");
  EXPECT_EQ(text(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])"), "a");
}

TEST(ChatRequest, returns_new_texts_and_all_texts) {
  const auto request = ChatRequest::parse(R"({"model":"a","tools":[{"type":"function","function":
    {"name":"f","parameters":{"type":"object","properties":{"x":{"type":"string","description":"of x"}}}}}],
    "messages":[
    {"role":"user","content":"older"},
    {"role":"user","content":"asked","name":"ada"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},
    {"role":"tool","content":"first"},
    {"role":"assistant","content":"hm","reasoning_content":"why","tool_calls":[{"id":"2","function":{"name":"f","arguments":"{\"x\":\"y\"}"}}]},
    {"role":"tool","content":"second"}]})");
  ASSERT_TRUE(request) << request.error().message;
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(request->turn_texts(), (Texts{"asked", "second", "hm", "why\nf\ny", "ada"}));
  EXPECT_EQ(request->texts(),
            (Texts{"second", "hm", "why\nf\ny", "first", "f", "asked", "ada", "older", "f\nof x"}));
}

// All other texts count as new, but not as the text that is decided on.
TEST(ChatRequest, returns_texts_outside_of_the_messages) {
  const auto request = ChatRequest::parse(R"({"model":"a","user":"ada","suffix":"behind",
    "response_format":{"type":"json_schema","json_schema":{"name":"reply","maximum":9007199254740991}},
    "documents":[{"id":"d1","text":"doc","number":123456789,"page":12}],
    "messages":[
    {"role":"user","content":"older","weird":["odd"]},
    {"role":"user","content":[{"type":"text","text":"asked"},
      {"type":"file","file":{"filename":"f.txt","file_id":"f1"}},
      {"type":"image_url","image_url":{"url":"https://x.example/a.png","detail":"low"}},
      {"type":"weird","body":{"of":["words"]},"no identifier":true,"cache_control":{"ttl":"5m"}}]}]})");
  ASSERT_TRUE(request) << request.error().message;
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(request->user_text(), "asked");
  const std::string_view beside = "f.txt\nwords\nno identifier",
                         attached = "behind\ndoc\n123456789";
  EXPECT_EQ(request->turn_texts(), (Texts{"asked", beside, attached}));
  EXPECT_EQ(request->texts(), (Texts{"asked", beside, "older", "odd", attached, "reply"}));
}

// The text that is decided on stays as it was written.
TEST(ChatRequest, resolves_escapes_of_json_in_a_content) {
  const auto request = ChatRequest::parse(R"({"model":"a","messages":[
    {"role":"user","content":"{\"x\":\"\\u0061da\",\"n\":1}"},
    {"role":"tool","content":"{\"x\":\"a\\nb\"}"},
    {"role":"tool","content":[{"type":"text","text":" [\"M\\u00fcller\"]"},{"type":"text","text":"\\u0041"}]}]})");
  ASSERT_TRUE(request) << request.error().message;
  using Texts = std::vector<std::string_view>;
  const std::string_view asked = R"({"x":"\u0061da","n":1})", replied = R"({"x":"a\nb"})",
                         listed = " [\"M\\u00fcller\"]\n\\u0041";
  EXPECT_EQ(request->user_text(), asked);
  EXPECT_EQ(request->turn_texts(), (Texts{asked, listed, "M\xC3\xBCller", replied, "a\nb", "ada"}));
}

TEST(ChatRequest, without_a_user_message_there_is_no_text) {
  EXPECT_EQ(ChatRequest::parse(R"({"model":"a","messages":[]})")->user_text(), "");
  EXPECT_EQ(ChatRequest::parse(R"({"model":"a","messages":[{"role":"system","content":"x"}]})")
                ->user_text(),
            "");
}

TEST(ChatRequest, errors_name_the_wrong_member) {
  EXPECT_EQ(message_of("[]"), "expected a JSON object, found array");
  EXPECT_EQ(message_of(R"({"messages":[]})"), "model: missing");
  EXPECT_EQ(message_of(R"({"model":"a"})"), "messages: missing");
  EXPECT_EQ(message_of(R"({"model":3,"messages":[]})"), "model: expected a string, found number");
  EXPECT_EQ(message_of(R"({"model":"a","messages":{}})"),
            "messages: expected an array, found object");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"stream":1})"),
            "stream: expected a boolean, found number");
  EXPECT_EQ(message_of(R"({"model":"a","messages":["x"]})"),
            "messages[0]: expected an object, found string");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{}]})"), "messages[0].role: missing");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":1}]})"),
            "messages[0].role: expected a string, found number");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","content":1}]})"),
            "messages[0].content: expected a string, an array or null, found number");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","content":["x"]}]})"),
            "messages[0].content[0]: expected an object, found string");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","content":[{"type":"text"}]}]})"),
            "messages[0].content[0].text: expected a string");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","content":[{}]}]})"),
            "messages[0].content[0].type: expected a string");
}

TEST(ChatRequest, refuses_a_known_key_in_another_case) {
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"Messages":[{"role":"user"}]})"),
            "Messages: expected \"messages\": some servers take one for the other");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"Response_Format":{}})"),
            "Response_Format: expected \"response_format\": some servers take one for the other");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","Content":"b"}]})"),
            "messages[0].Content: expected \"content\": some servers take one for the other");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"me\u017f\u017fages":[]})"),
            "me\u017f\u017fages: expected \"messages\": some servers take one for the other");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"Mode":1})"), "accepted");
}

TEST(ChatRequest, refuses_a_repeated_key_that_routing_reads) {
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"model":"b"})"),
            "model: given more than once");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"m\u006fdel":"b"})"),
            "model: given more than once");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"messages":[]})"),
            "messages: given more than once");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","role":"system"}]})"),
            "messages[0].role: given more than once");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[{"role":"user","content":"a","content":"b"}]})"),
            "messages[0].content: given more than once");
  EXPECT_EQ(message_of(R"({"model":"a","messages":[],"x":1,"x":2})"), "accepted");
}

}  // namespace
}  // namespace signalbox::request
