// Tests texts of choices that are split over chunks, in all the forms in which servers send them.
// Text that is held back must be sent later, at its own position.

#include "router/replies/chunk_unmasker.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/router/plugins/unmask_stream.h"

namespace signalbox::replies {
namespace {

std::string arguments(std::string_view text, int call) {
  return chunk(fmt::format(
      R"({{"index":0,"delta":{{"tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}]}},"finish_reason":null}})",
      call, json::quote(text)));
}

TEST(ChunkUnmasker, SendsHeldTextWhenAChoiceEnds) {
  // The choice ends with the last delta, with an end of its own, at [DONE], or without any end.
  EXPECT_EQ(heard(streamed(content("see [EMAIL", "\"length\""), 9)).content, "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL") +
                               chunk(R"({"index":0,"delta":{},"finish_reason":"length"})"),
                           9))
                .content,
            "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL") + "data: [DONE]\n\n", 9)).content, "see [EMAIL");
  EXPECT_EQ(heard(streamed(content("see [EMAIL"), 9)).content, "see [EMAIL");
}

TEST(ChunkUnmasker, KeepsTextsOfChoicesAndCallsApart) {
  const std::string stream = content("[PERS") + content("[IP_ADD", "null", 1) + content("ON_1]") +
                             arguments("{\"a\":\"[EMAIL_ADD", 0) + arguments("{\"b\":\"[PER", 1) +
                             arguments("RESS_1]\"}", 0) + arguments("SON_1]\"}", 1) +
                             content("RESS_1]", "\"stop\"", 1) + content("", "\"stop\"");
  const Heard all = heard(streamed(stream, 11));
  EXPECT_EQ(all.content, "Ann \"Q\" O\nNeil");
  EXPECT_EQ(all.other, "10.0.0.1");
  EXPECT_EQ(all.first_call, R"({"a":"ann@example.com"})");
  EXPECT_EQ(all.second_call, R"({"b":"Ann \"Q\" O\nNeil"})");
}

TEST(ChunkUnmasker, EndsChoicesOfAllNumbers) {
  for (const int64_t index : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
    const auto of_choice = [&](std::string_view members, std::string_view reason) {
      return chunk(fmt::format(R"({{"index":{},"delta":{{{}}},"finish_reason":{}}})", index,
                               members, reason));
    };
    const std::string others = delta(R"("content":"a")") + delta(R"("reasoning":"b [")");
    EXPECT_EQ(streamed(others + of_choice(R"("content":"c [")", "null") +
                           of_choice("", R"("stop")") + "data: [DONE]\n\n",
                       9),
              delta(R"("content":"a")") + delta(R"("reasoning":"b ")") +
                  of_choice(R"("content":"c ")", "null") + of_choice(R"("content":"[")", "null") +
                  of_choice("", R"("stop")") + delta(R"("reasoning":"[")") + "data: [DONE]\n\n");
  }
}

TEST(ChunkUnmasker, TreatsAnEmptyFinishReasonAsNone) {
  EXPECT_EQ(heard(streamed(content("to [EMAIL_ADD", "\"\"") + content("RESS_1] x", "\"\"") +
                               content("", "\"stop\"") + "data: [DONE]\n\n",
                           9))
                .content,
            "to ann@example.com x");
}

TEST(ChunkUnmasker, EndsATextBeforeAnotherOfItsChoice) {
  const std::string called =
      R"("tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}])";
  const std::string next_called =
      R"("tool_calls":[{"index":1,"id":"y","custom":{"name":"g","input":"b"}}])";
  const auto input = [](std::string_view text) {
    return fmt::format(R"("tool_calls":[{{"index":0,"custom":{{"input":"{}"}}}}])", text);
  };
  const std::string brace =
      R"("tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}])";
  const std::string rest = R"("tool_calls":[{"index":0,"function":{"arguments":"1}"}}])";
  const std::string none = R"("content":"","reasoning":"","refusal":"")";
  const auto said = [](std::string_view name, std::string_view text) {
    return fmt::format(R"("{}":"{}")", name, text);
  };
  using Deltas = std::vector<std::string>;
  const std::pair<Deltas, Deltas> cases[] = {
      {{said("content", "see ["), brace, rest},
       {said("content", "see "), said("content", "["), brace, rest}},
      {{said("content", "see ["), none, called, rest},
       {said("content", "see "), none, said("content", "["), called, rest}},
      {{said("reasoning_content", "of [EMAIL"), said("content", "Hello"), said("content", "!")},
       {said("reasoning_content", "of "), said("reasoning_content", "[EMAIL"),
        said("content", "Hello"), said("content", "!")}},
      {{said("reasoning", "a [") + "," + said("content", ""),
        said("reasoning", "") + "," + said("content", "b")},
       {said("reasoning", "a ") + "," + said("content", ""),
        said("reasoning", "[") + "," + said("content", "b")}},
      {{said("content", "a ["), said("refusal", "b")},
       {said("content", "a "), said("content", "["), said("refusal", "b")}},
      {{input("a ["), next_called, input("c")}, {input("a "), input("["), next_called, input("c")}},
      // Texts that occur in two members continue side by side, and so does a call that repeats its
      // name.
      {{said("reasoning_content", "[PERS") + "," + said("reasoning", "[PERS"),
        said("reasoning_content", "ON_1]") + "," + said("reasoning", "ON_1]")},
       {said("reasoning_content", "") + "," + said("reasoning", ""),
        said("reasoning_content", R"(Ann \"Q\" O\nNeil)") + "," +
            said("reasoning", R"(Ann \"Q\" O\nNeil)")}},
      {{R"("tool_calls":[{"index":0,"custom":{"name":"g","input":"[IP_"}}])",
        R"("tool_calls":[{"index":0,"custom":{"name":"g","input":"ADDRESS_1]"}}])"},
       {R"("tool_calls":[{"index":0,"custom":{"name":"g","input":""}}])",
        R"("tool_calls":[{"index":0,"custom":{"name":"g","input":"10.0.0.1"}}])"}},
  };
  for (const auto& [deltas, expected] : cases) {
    std::string in, out;
    for (const std::string& each : deltas) in += delta(each);
    for (const std::string& each : expected) out += delta(each);
    EXPECT_EQ(streamed(in + "data: [DONE]\n\n", 9), out + "data: [DONE]\n\n");
  }
}

TEST(ChunkUnmasker, EndsATextInTheChunkOfItsLastPart) {
  EXPECT_EQ(
      streamed(delta(R"("content":"a [")") + chunk(R"({"index":0,"delta":{"content":"b ["}},)"
                                                   R"({"index":0,"delta":{"reasoning":"c"}})"),
               9),
      delta(R"("content":"a ")") + chunk(R"({"index":0,"delta":{"content":"[b ["}},)"
                                         R"({"index":0,"delta":{"reasoning":"c"}})"));
}

TEST(ChunkUnmasker, ReadsDetailsOfReasoning) {
  const auto detail = [](std::string_view key, std::string_view text) {
    return fmt::format(R"("reasoning_details":[{{"type":"reasoning.{}","index":2,"{}":"{}"}}])",
                       key, key, text);
  };
  for (const std::string_view key : {"text", "summary"}) {
    EXPECT_EQ(streamed(delta(R"("reasoning":"[PERS",)" + detail(key, "of [IP_ADD")) +
                           delta(R"("reasoning":"ON",)" + detail(key, "RESS_1] [")) +
                           delta(R"("content":"x")"),
                       9),
              delta(R"("reasoning":"",)" + detail(key, "of ")) +
                  delta(R"("reasoning":"",)" + detail(key, "10.0.0.1 ")) +
                  delta(R"("reasoning":"[PERSON")") + delta(detail(key, "[")) +
                  delta(R"("content":"x")"));
  }
}

/// Returns calls that each hold back some text, followed by the end of their choice.
std::string held_calls(size_t calls, std::string_view id) {
  std::string out = R"({"index":0,"delta":{"tool_calls":[)";
  for (size_t i = 0; i < calls; ++i)
    out += fmt::format(R"({}{{"index":{},"custom":{{"input":"["}}}})", i == 0 ? "" : ",", i);
  return chunk(out + "]}}") + fmt::format(
                                  "data: {{\"id\":\"{}\",\"choices\":[{{\"index\":0,\"delta\":{{}},"
                                  "\"finish_reason\":\"stop\"}}]}}\n\n",
                                  id);
}

TEST(ChunkUnmasker, HoldsBackALimitedNumberOfTexts) {
  const std::string stream =
      held_calls(ChunkUnmasker::kTextsMax, "c1") +
      chunk(R"({"index":7,"delta":{"content":"a [IP_ADDRESS_1] [PERS"}})") +
      chunk(R"({"index":7,"delta":{"content":"ON_1]"},"finish_reason":"stop"})");
  const std::string out = streamed(stream, stream.size());
  EXPECT_NE(out.find(R"({"index":7,"delta":{"content":"a 10.0.0.1 [PERS"}})"), std::string::npos);
  EXPECT_NE(out.find(R"({"index":7,"delta":{"content":"ON_1]"},)"), std::string::npos);
}

TEST(ChunkUnmasker, RepeatsNoIdThatWouldMakeTheStreamManyTimesAsLong) {
  const std::string stream = held_calls(500, std::string(100'000, 'x'));
  EXPECT_LT(streamed(stream, stream.size()).size(), 3 * stream.size());
}

TEST(ChunkUnmasker, TakesTimeInProportionToTheTextsThatEnd) {
  const auto seconds = [](size_t calls) {
    const std::string stream = held_calls(calls, "c1");
    return seconds_of([&] { streamed(stream, stream.size()); });
  };
  const double one = seconds(1000);
  EXPECT_LT(seconds(8000), 20 * one + 0.01);
}

TEST(ChunkUnmasker, ReadsTheTextsOfPlainCompletions) {
  const std::string stream = chunk(R"({"index":0,"text":"see [PERS"})") +
                             chunk(R"({"index":0,"text":"ON_1] ["})") + "data: [DONE]\n\n";
  const std::string out = streamed(stream, 9);
  EXPECT_NE(out.find(R"("text":"see ")"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("text":"Ann \"Q\" O\nNeil ")"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("index":0,"text":"[","finish_reason":null)"), std::string::npos) << out;
}

/// Returns the texts of all events that follow `before`, up to the closing quote.
std::string texts_after(std::string_view before, const std::string& stream) {
  std::string out;
  for (size_t at = 0; (at = stream.find(before, at)) != std::string::npos;) {
    at += before.size();
    out += stream.substr(at, stream.find('"', at) - at);
  }
  return out;
}

TEST(ChunkUnmasker, JoinsTextsOfContentsThatAreListsOfParts) {
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

/// Returns a delta of choice 0 with this content, as JSON.
std::string listed(std::string_view content, std::string_view reason = "null") {
  return delta(fmt::format("\"content\":{}", content), reason);
}

/// Returns what a client reads, with thoughts between "<" and ">", and parts without text as their
/// type.
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

TEST(ChunkUnmasker, KeepsTheOrderOfContentsInAllTheirForms) {
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
      // Different forms after each other.
      {listed("\"see [EMAIL_\"") + listed(text("ADDRESS_1] bye")), "see ann@example.com bye"},
      {listed("\"array a[\"") + listed(text("0] is first")), "array a[0] is first"},
      {listed(R"(["see [EMAIL_"])") + listed(R"(["ADDRESS_1]", "."])"), "see ann@example.com."},
      // A thought before a text, and after it.
      {listed(thought("index a[")) + listed(text("It is 4")), "<index a><[>It is 4"},
      {listed(text("a [")) + listed(thought("b [")) + listed(text("c")), "a [<b ><[>c"},
      {listed(thought("of [PERS")) + listed(thought("ON_1]")), "<of ><Ann \"Q\" O\nNeil>"},
      // A text of another type, and one without a type.
      {listed(R"([{"type":"reasoning","text":"a ["}])") + listed(text("b")), "a [b"},
      {listed(R"([{"text":"a [IP_"}])") + listed(text("ADDRESS_1]")), "a 10.0.0.1"},
      // A part without text.
      {listed(R"([{"type":"text","text":"a ["},{"type":"ref"},{"type":"text","text":"b"}])"),
       "a [refb"},
      {listed(text("a [")) + listed(R"([{"type":"ref"}])") + listed(text("b")), "a [refb"},
  };
  for (const auto& [stream, heard] : cases) {
    const std::string out = streamed(stream + "data: [DONE]\n\n", 9);
    EXPECT_EQ(read_in_order(out), heard) << out;
  }
}

TEST(ChunkUnmasker, ReadsTheInputsOfCustomTools) {
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

}  // namespace
}  // namespace signalbox::replies
