// Tests replies with placeholders, whole and as streams that are split at every byte.

#include "router/replies/pii_unmask.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "tests/router/plugins/unmask_stream.h"

namespace signalbox::replies {
namespace {

TEST(UnmaskReply, EditsTheStringsThatHoldPlaceholders) {
  EXPECT_EQ(unmask_reply(R"({"id":"x","n": 12345678901234567890123,
 "choices":[{"message":{"content":"Hi [PERSON_1] at [EMAIL_ADDRESS_1]"}}], "a" : "b\u0041"})",
                         masks()),
            R"({"id":"x","n": 12345678901234567890123,
 "choices":[{"message":{"content":"Hi Ann \"Q\" O\nNeil at ann@example.com"}}], "a" : "b\u0041"})");
}

TEST(UnmaskReply, EscapesOriginalsTwiceInArguments) {
  const std::string reply = unmask_reply(
      R"({"tool_calls":[{"function":{"arguments":"{\"to\":\"[PERSON_1]\"}"}}]})", masks());
  const auto document = json::Document::parse(reply);
  ASSERT_TRUE(document) << reply;
  const json::Value call = *document->root().find("tool_calls")->items().begin();
  const auto arguments =
      json::Document::parse(std::string(call.find("function")->find("arguments")->text()));
  ASSERT_TRUE(arguments) << reply;
  EXPECT_EQ(arguments->root().find("to")->text(), "Ann \"Q\" O\nNeil");
}

TEST(UnmaskReply, EscapesOriginalsTwiceInContentsThatAreJson) {
  const std::string reply = unmask_reply(
      R"({"choices":[{"message":{"content":" {\"to\":\"[PERSON_1]\"}"}},{"message":{"content":"[PERSON_1] {}"}}]})",
      masks());
  EXPECT_EQ(
      reply,
      R"({"choices":[{"message":{"content":" {\"to\":\"Ann \\\"Q\\\" O\\nNeil\"}"}},{"message":{"content":"Ann \"Q\" O\nNeil {}"}}]})");
}

TEST(UnmaskReply, ReadsInvalidJsonAsText) {
  EXPECT_EQ(unmask_reply("<h1>[IP_ADDRESS_1]</h1>", masks()), "<h1>10.0.0.1</h1>");
}

// If the masks were sorted for each string, this many of them would take a hundred times as long.
TEST(UnmaskReply, SortsTheMasksOnce) {
  std::string reply = "{\"tokens\":[";
  for (int i = 0; i < 10000; ++i) reply += "\"[\",";
  reply += "\"\"]}";
  std::vector<pii::Mask> many;
  for (int i = 0; i < 2000; ++i) many.push_back({fmt::format("[PERSON_{}]", i), "Ann"});
  const ReplyMasks large(many);
  const double few = seconds_of([&] { EXPECT_EQ(unmask_reply(reply, masks()), reply); });
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(unmask_reply(reply, large), reply); }), 10 * few + 0.01);
}

TEST(StreamUnmasker, JoinsAPlaceholderThatIsSplitOverDeltas) {
  constexpr std::string_view kText = "Write to [EMAIL_ADDRESS_1] or [x], [PERSON_1]!";
  for (size_t cut = 0; cut <= kText.size(); ++cut) {
    const std::string stream = content(kText.substr(0, cut)) + content(kText.substr(cut)) +
                               content("", "\"stop\"") + "data: [DONE]\n\n";
    for (const size_t piece : {size_t{1}, size_t{7}, stream.size()}) {
      const Heard all = heard(streamed(stream, piece));
      ASSERT_EQ(all.content, "Write to ann@example.com or [x], Ann \"Q\" O\nNeil!") << cut;
      ASSERT_EQ(all.events, 4U);
    }
  }
}

TEST(StreamUnmasker, EscapesOriginalsTwiceInAContentThatOpensAsJson) {
  constexpr std::string_view kWritten = R"({"to":"Ann \"Q\" O\nNeil"})";
  for (const std::string_view blank : {"", " ", "\n"}) {
    const std::string stream =
        content(blank) + content("{\"to\":\"[PER") + content("SON_1]\"}") + "data: [DONE]\n\n";
    EXPECT_EQ(heard(streamed(stream, 11)).content, fmt::format("{}{}", blank, kWritten));
  }
  EXPECT_EQ(heard(streamed(content("[{\"to\":\"[PERSON_1]\"}]"), 11)).content,
            fmt::format("[{}]", kWritten));
  EXPECT_EQ(heard(streamed(content("[PERSON_1]") + content("{}"), 11)).content,
            "Ann \"Q\" O\nNeil{}");
}

TEST(StreamUnmasker, RecognisesJsonLikeAWholeReply) {
  constexpr std::string_view kQuoted = R"(Ann \"Q\" O\nNeil)", kPlain = "Ann \"Q\" O\nNeil";
  constexpr std::string_view kJson[] = {
      R"([{"key":"@"}])",      R"({"@":null})",          R"([1, "@"])",
      R"( [ [ ],"@"])",        R"([[{}, "@"]])",         R"([true,false,"@"])",
      R"([-1.5e+3,["@"]])",    R"({"a":{"b":["\"@"]}})", R"({"a":"\u0041@"})",
      R"({ "a" : 1 , "b":"@)", "[\n\t\"@\"] and more",   R"(["[1] @"])",
  };
  constexpr std::string_view kProse[] = {
      "@ {}",      "[1] key: @",    "[x](url) @",     "[ ] task @", "{note} @",
      "[note] @",  "[true] @",      "[[@]]",          "[@, 1]",     "{} @",
      "[1, 2] @",  "{1: \"@\"}",    "[\"a\" \"@\"]",  "[}\"@\"",    "[\"a\nb @\"]",
      "[1 \"@\"]", "{\"a\" \"@\"}", "[\"a\",] \"@\"", "\"@\"",      "1 \"@\"",
  };
  const auto check = [](std::string_view form, std::string_view original) {
    std::string masked(form), expected(form);
    masked.replace(form.find('@'), 1, "[PERSON_1]");
    expected.replace(form.find('@'), 1, original);
    EXPECT_EQ(unmask_reply(fmt::format("[{}]", json::quote(masked)), masks()),
              fmt::format("[{}]", json::quote(expected)));
    for (size_t cut = 0; cut <= masked.size(); ++cut) {
      const std::string stream = content(masked.substr(0, cut)) + content(masked.substr(cut));
      EXPECT_EQ(heard(streamed(stream, stream.size())).content, expected) << cut;
    }
    std::string bytes;
    for (const char& c : masked) bytes += content({&c, 1});
    EXPECT_EQ(heard(streamed(bytes, bytes.size())).content, expected);
  };
  for (const std::string_view form : kJson) check(form, kQuoted);
  for (const std::string_view form : kProse) check(form, kPlain);
}

TEST(StreamUnmasker, PutsOriginalsIntoStringsThatAreNotTexts) {
  for (const std::string_view delta :
       {R"("content":[{"type":"refusal","refusal":"{}"}])",
        R"("content":{"type":"text","text":"{}"})", R"("reasoning_details":[{"text":"{}"}])"}) {
    std::string asked(delta), expected(delta);
    asked.replace(asked.find("{}"), 2, "to [EMAIL_ADDRESS_1]");
    expected.replace(expected.find("{}"), 2, "to ann@example.com");
    const std::string form = R"({{"index":0,"delta":{{{}}}}})";
    EXPECT_EQ(streamed(chunk(fmt::format(fmt::runtime(form), asked)), 9),
              chunk(fmt::format(fmt::runtime(form), expected)));
  }
}

TEST(StreamUnmasker, LeavesEventsWithoutPlaceholdersUnchanged) {
  const std::string stream =
      ": a comment\r\nevent: x\r\ndata: {\"choices\" : [ {\"delta\":{\"content\":\"\\u0041 a\"}} ] "
      ", "
      "\"n\":1e3}\r\n\r\ndata: not json\n\ndata:{\"error\":1}\n\n" +
      chunk("") + "data: [DONE]\n\n";
  for (size_t piece = 1; piece < 40; ++piece) EXPECT_EQ(streamed(stream, piece), stream);
}

TEST(StreamUnmasker, InsertsHeldTextBetweenEvents) {
  const auto event = [](std::string_view text) {
    return fmt::format(R"(data: {{"choices":[{{"index":0,"delta":{{"content":"{}"}}{}}}]}})", text,
                       text == "[" ? R"(,"finish_reason":null)" : "");
  };
  const std::string in = event("see ["), out = event("see "), held = event("[") + "\n\n";
  const std::string done = "data: [DONE]\n\n", id = "id: 8\r\n: a comment\nevent: done\n";
  const std::string end = R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";
  const std::pair<std::string, std::string> cases[] = {
      {in, out + "\n\n" + held},  // events without a terminating blank line
      {in + "\n", out + "\n\n" + held},
      {in + "\r\n", out + "\r\n\n" + held},
      {in + "\n" + done, out + "\n\n" + held + done},
      {in + "\nid: 7\n" + end + "\n" + done, out + "\nid: 7\n\n" + held + end + "\n" + done},
      {in + "\n\n", out + "\n\n" + held},
      {in + "\n\n" + id + done, out + "\n\n" + held + id + done},
      {in + "\n\n" + id + end + "\n\n" + done, out + "\n\n" + held + id + end + "\n\n" + done},
      {id + in + "\nid: 9\n\n" + id + done, id + out + "\nid: 9\n\n" + held + id + done},
      {in + "\n\n" + id, out + "\n\n" + held + id},
      {in + "\n\n: a\n" + done, out + "\n\n: a\n" + held + done},
      {in + "\n\n: a", out + "\n\n: a\n\n" + held},
      {in + "\n\n" + id + "da", out + "\n\n" + held + id + "da"},
  };
  for (const auto& [stream, expected] : cases) {
    for (size_t piece = 1; piece < 20; ++piece) EXPECT_EQ(streamed(stream, piece), expected);
  }
}

TEST(StreamUnmasker, DelaysNoEventThatHoldsNothingBack) {
  StreamUnmasker unmasker(masks());
  std::string out;
  ASSERT_TRUE(unmasker.push(content("one"), out));
  EXPECT_EQ(out, content("one"));
  const std::string rest = "data: {}\nid: 1\n\n: ping\n\n: ping\n";
  ASSERT_TRUE(unmasker.push(rest, out));
  EXPECT_EQ(out, content("one") + rest);
}

TEST(StreamUnmasker, RefusesALineWithoutEndAndLinesWithoutData) {
  for (const char* end : {"", "\n"}) {
    StreamUnmasker unmasker(masks());
    std::string out;
    const std::string piece = std::string(size_t{1} << 20, 'x') + end;
    Result<void> pushed;
    for (int i = 0; i < 20 && pushed; ++i) pushed = unmasker.push(piece, out);
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code, Code::kTooLarge);
  }
}

std::string event(std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n",
                     json::Document::parse(std::string(data))->root().find("type")->text(), data);
}

TEST(StreamUnmasker, RestoresMessagesAndLeavesSignedThoughts) {
  const std::string thought = event(
      R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"[PERSON_1]"}})");
  const auto said = [](std::string_view text) {
    return event(fmt::format(
        R"({{"type":"content_block_delta","index":1,"delta":{{"type":"text_delta","text":{}}}}})",
        json::quote(text)));
  };
  const std::string stop = event(R"({"type":"content_block_stop","index":1})");
  const std::string stream = thought + said("To [EMAIL_ADD") + said("RESS_1] [") + stop;
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    ASSERT_EQ(streamed(stream, piece),
              thought + said("To ") + said("ann@example.com ") + said("[") + stop)
        << piece;
  }
}

TEST(StreamUnmasker, NumbersTheEventsThatFollowAnInsertedOne) {
  const auto delta = [](int number, std::string_view text) {
    return event(fmt::format(
        R"({{"type":"response.output_text.delta","sequence_number":{},"output_index":0,"content_index":0,"delta":{}}})",
        number, json::quote(text)));
  };
  const auto done = [](int number) {
    return event(fmt::format(
        R"({{"type":"response.output_text.done","sequence_number":{},"output_index":0,"content_index":0,"text":"x [IP_ADDRESS_1] ["}})",
        number));
  };
  std::string out = streamed(delta(4, "x [IP_ADDRESS_1] [") + done(5), 9);
  std::string expected = delta(4, "x 10.0.0.1 ") + delta(5, "[") + done(6);
  expected.replace(expected.find("[IP_ADDRESS_1]"), 14, "10.0.0.1");
  EXPECT_EQ(out, expected);
}

TEST(UnmaskReply, LeavesPartsThatAServerHasSigned) {
  EXPECT_EQ(
      unmask_reply(
          R"({"content":[{"type":"thinking","thinking":"[IP_ADDRESS_1]","signature":"s"},{"type":"text","text":"[IP_ADDRESS_1]"}]})",
          masks()),
      R"({"content":[{"type":"thinking","thinking":"[IP_ADDRESS_1]","signature":"s"},{"type":"text","text":"10.0.0.1"}]})");
}

}  // namespace
}  // namespace signalbox::replies
