// Replies with placeholders, whole and as streams that are cut at every byte.

#include "router/plugins/pii_unmask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "base/json_writer.h"

namespace signalbox::router {
namespace {

const ReplyMasks& masks() {
  static const ReplyMasks kMasks({{"[EMAIL_ADDRESS_1]", "ann@example.com"},
                                  {"[PERSON_1]", "Ann \"Q\" O\nNeil"},
                                  {"[IP_ADDRESS_1]", "10.0.0.1"}});
  return kMasks;
}

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

TEST(UnmaskReply, TakesWhatIsNoJsonAsText) {
  EXPECT_EQ(unmask_reply("<h1>[IP_ADDRESS_1]</h1>", masks()), "<h1>10.0.0.1</h1>");
}

double seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t from = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
  }
  return best;
}

// Masks put in order for each string would take a hundred times as long where there are as many.
TEST(UnmaskReply, LooksAtTheMasksOnce) {
  std::string reply = "{\"tokens\":[";
  for (int i = 0; i < 10000; ++i) reply += "\"[\",";
  reply += "\"\"]}";
  std::vector<Mask> many;
  for (int i = 0; i < 2000; ++i) many.push_back({fmt::format("[PERSON_{}]", i), "Ann"});
  const ReplyMasks large(many);
  const double few = seconds_of([&] { EXPECT_EQ(unmask_reply(reply, masks()), reply); });
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(unmask_reply(reply, large), reply); }), 10 * few + 0.01);
}

std::string chunk(std::string_view choices) {
  return fmt::format(
      "data: "
      "{{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{}]}}\n\n",
      choices);
}

std::string content(std::string_view text, std::string_view reason = "null", int choice = 0) {
  return chunk(fmt::format(R"({{"index":{},"delta":{{"content":{}}},"finish_reason":{}}})", choice,
                           json::quote(text), reason));
}

std::string arguments(std::string_view text, int call) {
  return chunk(fmt::format(
      R"({{"index":0,"delta":{{"tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}]}},"finish_reason":null}})",
      call, json::quote(text)));
}

std::string streamed(std::string_view stream, size_t piece) {
  StreamUnmasker unmasker(masks());
  std::string out;
  for (size_t at = 0; at < stream.size(); at += piece)
    EXPECT_TRUE(unmasker.push(stream.substr(at, piece), out));
  unmasker.finish(out);
  return out;
}

/// What a client makes of a stream: the texts of choice 0 and of its two calls.
struct Heard {
  std::string content, other, first_call, second_call;
  size_t events = 0;
};

Heard heard(std::string_view stream) {
  Heard out;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    if (end == std::string_view::npos || !stream.starts_with("data: ")) {
      ADD_FAILURE() << stream;
      break;
    }
    const std::string data(stream.substr(6, end - 6));
    stream.remove_prefix(end + 2);
    ++out.events;
    if (data == "[DONE]") continue;
    const auto event = json::Document::parse(data);
    if (!event) {
      ADD_FAILURE() << data;
      continue;
    }
    EXPECT_EQ(event->root().find("id")->text(), "c1");
    for (const json::Value& choice : event->root().find("choices")->items()) {
      const json::Value delta = *choice.find("delta");
      if (const auto text = delta.find("content"))
        (*choice.find("index")->integer() == 0 ? out.content : out.other) += text->text();
      const auto calls = delta.find("tool_calls");
      if (!calls) continue;
      for (const json::Value& call : calls->items()) {
        (*call.find("index")->integer() == 0 ? out.first_call : out.second_call) +=
            call.find("function")->find("arguments")->text();
      }
    }
  }
  return out;
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

TEST(StreamUnmasker, SendsWhatIsHeldWhenAChoiceEnds) {
  // With the last delta, with an end of its own, at [DONE], and with nothing at all.
  EXPECT_EQ(heard(streamed(content("see [EMAIL", "\"length\""), 9)).content, "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL") +
                               chunk(R"({"index":0,"delta":{},"finish_reason":"length"})"),
                           9))
                .content,
            "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL") + "data: [DONE]\n\n", 9)).content, "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL"), 9)).content, "see [EMAIL");
}

TEST(StreamUnmasker, KeepsTextsOfChoicesAndCallsApart) {
  const std::string stream = content("[PERS") + content("[IP_ADD", "null", 1) +
                             arguments("{\"a\":\"[EMAIL_ADD", 0) + arguments("{\"b\":\"[PER", 1) +
                             arguments("RESS_1]\"}", 0) + arguments("SON_1]\"}", 1) +
                             content("RESS_1]", "\"stop\"", 1) + content("ON_1]", "\"stop\"");
  const Heard all = heard(streamed(stream, 11));
  EXPECT_EQ(all.content, "Ann \"Q\" O\nNeil");
  EXPECT_EQ(all.other, "10.0.0.1");
  EXPECT_EQ(all.first_call, R"({"a":"ann@example.com"})");
  EXPECT_EQ(all.second_call, R"({"b":"Ann \"Q\" O\nNeil"})");
}

TEST(StreamUnmasker, ReadsTheTextsOfPlainCompletions) {
  const std::string stream = chunk(R"({"index":0,"text":"see [PERS"})") +
                             chunk(R"({"index":0,"text":"ON_1] ["})") + "data: [DONE]\n\n";
  const std::string out = streamed(stream, 9);
  EXPECT_NE(out.find(R"("text":"see ")"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("text":"Ann \"Q\" O\nNeil ")"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("index":0,"text":"[","finish_reason":null)"), std::string::npos) << out;
}

/// Of all events, the texts that follow `before`, up to their quote.
std::string texts_after(std::string_view before, const std::string& stream) {
  std::string out;
  for (size_t at = 0; (at = stream.find(before, at)) != std::string::npos;) {
    at += before.size();
    out += stream.substr(at, stream.find('"', at) - at);
  }
  return out;
}

TEST(StreamUnmasker, JoinsTextsOfContentsThatAreListsOfParts) {
  constexpr std::string_view kThought =
      R"({{"index":0,"delta":{{"content":[{{"type":"thinking","thinking":[{{"type":"text","text":"{}"}}]}}]}}}})";
  constexpr std::string_view kText =
      R"({{"index":0,"delta":{{"content":[{{"type":"text","text":"{}"}},{{"type":"text","text":"{}"}}]}}}})";
  const std::string stream = chunk(fmt::format(kThought, "of [EMAIL_ADD")) +
                             chunk(fmt::format(kThought, "RESS_1].")) +
                             chunk(fmt::format(kText, "to [IP_", "ADDR")) +
                             chunk(fmt::format(kText, "ESS_1]", " [x")) + "data: [DONE]\n\n";
  for (size_t piece = 1; piece < stream.size(); piece += 7) {
    const std::string out = streamed(stream, piece);
    EXPECT_EQ(texts_after(R"("thinking":[{"type":"text","text":")", out), "of ann@example.com.");
    EXPECT_EQ(texts_after(R"("text":")", out), "of ann@example.com.to 10.0.0.1 [x");
  }
}

/// A delta of choice 0 with this content, as JSON.
std::string listed(std::string_view content, std::string_view reason = "null") {
  return chunk(
      fmt::format(R"({{"index":0,"delta":{{"content":{}}},"finish_reason":{}}})", content, reason));
}

/// What a client reads, thoughts between "<" and ">", parts that are none as their type.
std::string read_in_order(std::string_view stream) {
  std::string out;
  for (size_t at = 0; (at = stream.find("data: {", at)) != std::string_view::npos;) {
    const size_t end = stream.find("\n\n", at);
    const auto event = json::Document::parse(std::string(stream.substr(at + 6, end - at - 6)));
    at = end;
    const json::Value delta = *(*event->root().find("choices")->items().begin()).find("delta");
    const auto content = delta.find("content");
    if (!content) continue;
    if (content->is_string()) out += content->text();
    for (const json::Value& part : content->items()) {
      const auto text = part.find("text"), thought = part.find("thinking");
      if (part.is_string()) {
        out += part.text();
      } else if (text) {
        out += text->text();
      } else if (!thought) {
        out += part.find("type")->text();
      } else if (thought->is_string()) {
        out += fmt::format("<{}>", thought->text());
      } else {
        for (const json::Value& each : thought->items())
          out += fmt::format("<{}>", each.find("text")->text());
      }
    }
  }
  return out;
}

TEST(StreamUnmasker, KeepsTheOrderOfContentsInAllTheirForms) {
  const auto text = [](std::string_view words) {
    return fmt::format(R"([{{"type":"text","text":"{}"}}])", words);
  };
  const auto thought = [](std::string_view words) {
    return fmt::format(R"([{{"type":"thinking","thinking":"{}"}}])", words);
  };
  const std::pair<std::string, std::string_view> cases[] = {
      // A list that ends its choice.
      {listed(R"([{"type":"text","text":"to [EMAIL_"},{"type":"text","text":"ADDRESS_1] bye"}])",
              "\"stop\""),
       "to ann@example.com bye"},
      // One form after the other.
      {listed("\"see [EMAIL_\"") + listed(text("ADDRESS_1] bye")), "see ann@example.com bye"},
      {listed("\"array a[\"") + listed(text("0] is first")), "array a[0] is first"},
      {listed(R"(["see [EMAIL_"])") + listed(R"(["ADDRESS_1]", "."])"), "see ann@example.com."},
      // A thought before a text, and behind it.
      {listed(thought("index a[")) + listed(text("It is 4")), "<index a><[>It is 4"},
      {listed(text("a [")) + listed(thought("b [")) + listed(text("c")), "a [<b ><[>c"},
      {listed(thought("of [PERS")) + listed(thought("ON_1]")), "<of ><Ann \"Q\" O\nNeil>"},
      // A part that is no text.
      {listed(R"([{"type":"text","text":"a ["},{"type":"ref"},{"type":"text","text":"b"}])"),
       "a [refb"},
      {listed(text("a [")) + listed(R"([{"type":"ref"}])") + listed(text("b")), "a [refb"},
  };
  for (const auto& [stream, heard] : cases) {
    const std::string out = streamed(stream + "data: [DONE]\n\n", 9);
    EXPECT_EQ(read_in_order(out), heard) << out;
  }
}

TEST(StreamUnmasker, PutsOriginalsIntoStringsThatAreNoTexts) {
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

TEST(StreamUnmasker, ReadsTheInputsOfCustomTools) {
  const auto input = [](std::string_view text) {
    return chunk(fmt::format(
        R"({{"index":0,"delta":{{"tool_calls":[{{"index":1,"custom":{{"input":"{}"}}}}]}}}})",
        text));
  };
  EXPECT_EQ(
      streamed(input("to [EMAIL_ADD") + input("RESS_1] [I") + "data: [DONE]\n\n", 9),
      input("to ") + input("ann@example.com ") +
          "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":["
          "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"custom\":{\"input\":\"[I\"}}]},"
          "\"finish_reason\":null}]}\n\ndata: [DONE]\n\n");
}

TEST(StreamUnmasker, LeavesWhatHoldsNothingAsItIs) {
  const std::string stream =
      ": a comment\r\nevent: x\r\ndata: {\"choices\" : [ {\"delta\":{\"content\":\"\\u0041 a\"}} ] "
      ", "
      "\"n\":1e3}\r\n\r\ndata: not json\n\ndata:{\"error\":1}\n\n" +
      chunk("") + "data: [DONE]\n\n";
  for (size_t piece = 1; piece < 40; ++piece) EXPECT_EQ(streamed(stream, piece), stream);
}

TEST(StreamUnmasker, DelaysNoEventThatHoldsNothingBack) {
  StreamUnmasker unmasker(masks());
  std::string out;
  ASSERT_TRUE(unmasker.push(content("one"), out));
  EXPECT_EQ(out, content("one"));
}

TEST(StreamUnmasker, RefusesALineWithoutEnd) {
  StreamUnmasker unmasker(masks());
  std::string out;
  const std::string piece(size_t{1} << 20, 'x');
  Result<void> pushed;
  for (int i = 0; i < 20 && pushed; ++i) pushed = unmasker.push(piece, out);
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code, Code::kTooLarge);
}

}  // namespace
}  // namespace signalbox::router
