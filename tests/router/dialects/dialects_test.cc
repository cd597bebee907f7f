// Tests requests, replies and streams of every surface from lines of data. A request gives a chat
// completion ("chat"), what it lost on the way ("dropped", "unread"), and perhaps the reason why it
// cannot be translated ("refused") or read at all ("error"). A stream must give the
// same output however it is split.

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "router/dialects/events.h"
#include "tests/router/dialects/case.h"

namespace signalbox::dialects::test {
namespace {

std::vector<json::Document> rows(const std::string& name) {
  std::vector<json::Document> out;
  std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR "/tests/router/dialects/cases/") + name);
  for (std::string line; std::getline(file, line);) {
    auto row = json::Document::parse(line);
    EXPECT_TRUE(row) << name << ": " << line;
    if (row) out.push_back(*std::move(row));
  }
  EXPECT_FALSE(out.empty()) << name;
  return out;
}

std::string text(const json::Value& row, std::string_view key) {
  const auto value = row.find(key);
  if (!value) return {};
  return std::string(value->is_string() ? value->text() : value->raw());
}

std::string events(const json::Value& row, std::string_view key) {
  std::string out;
  const auto list = row.find(key);
  if (!list) return out;
  for (const json::Value& event : list->items()) {
    if (event.is_string()) {
      out += event.text();
    } else {
      const auto type = event.find("type");
      const bool named = key == "out" && type;
      dialects::append_event(out, named ? type->text() : std::string_view{}, event.raw());
    }
  }
  return out;
}

TEST(Surfaces, read_requests) {
  for (const json::Document& document : rows("requests.jsonl")) {
    const json::Value row = document.root();
    dialects::ResponseStore store{{}};
    store.put("resp_a", {"me", "{}", {}, R"({"role":"user","content":"before"})"},
              kRequestContext.now);
    store.put("resp_" + std::string(kTokenBytes, 'a'), {"me", text(row, "stored"), {}, ""},
              kRequestContext.now);
    const auto incoming = read(text(row, "surface"), text(row, "request"), store);
    if (row.find("error")) {
      ASSERT_FALSE(incoming) << row.raw();
      EXPECT_EQ(incoming.error().message, text(row, "error"));
      EXPECT_EQ(incoming.error().code, Code::kInvalid);
      continue;
    }
    ASSERT_TRUE(incoming) << row.raw() << "\n" << incoming.error().message;
    EXPECT_EQ(incoming->losses.names(), text(row, "dropped")) << row.raw();
    const auto refusal = incoming->losses.refusal(false);
    EXPECT_EQ(refusal ? refusal->message : "", text(row, "refused")) << row.raw();
    if (row.find("chat")) {
      EXPECT_EQ(incoming->chat, text(row, "chat")) << row.raw();
    }
    if (row.find("unread")) {
      EXPECT_EQ(incoming->losses.contents(), text(row, "unread"));
    }
  }
}

TEST(Surfaces, translate_replies) {
  for (const json::Document& document : rows("replies.jsonl")) {
    const json::Value row = document.root();
    dialects::ResponseStore store{{}};
    const auto incoming = read(text(row, "surface"), text(row, "request"), store);
    ASSERT_TRUE(incoming) << row.raw();
    const auto whole = incoming->replies->whole(text(row, "reply"));
    if (row.find("error")) {
      ASSERT_FALSE(whole) << row.raw();
      EXPECT_EQ(whole.error().message, text(row, "error"));
      EXPECT_EQ(whole.error().code, Code::kUpstream);
    } else {
      ASSERT_TRUE(whole) << row.raw() << "\n" << whole.error().message;
      EXPECT_EQ(*whole, text(row, "out"));
    }
  }
}

TEST(Surfaces, translate_streams_however_they_are_cut) {
  for (const json::Document& document : rows("streams.jsonl")) {
    const json::Value row = document.root();
    const std::string sent = events(row, "events");
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, sent.size() + 1}) {
      dialects::ResponseStore store{{}};
      const auto incoming = read(text(row, "surface"), text(row, "request"), store);
      ASSERT_TRUE(incoming) << row.raw();
      const Streamed got = stream(*incoming->replies, sent, piece);
      EXPECT_EQ(got.out, events(row, "out")) << "in pieces of " << piece;
      EXPECT_EQ(got.error, text(row, "error")) << "in pieces of " << piece;
    }
  }
}

TEST(Surfaces, do_not_deny_a_parameter_that_they_change) {
  dialects::ResponseStore store{{}};
  const auto hot = read("server", R"({"model":"m","messages":[],"temperature":1.5})", store);
  ASSERT_TRUE(hot);
  EXPECT_EQ(hot->losses.refusal(true).value().message,
            "temperature: the API of the model's server does not take it as it is, and "
            "global.api.untranslatable is refuse");
}

TEST(Surfaces, put_the_place_of_an_error_in_front_only_if_it_is_a_path) {
  dialects::ResponseStore store{{}};
  const auto incoming =
      read("messages", R"({"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]})",
           store);
  ASSERT_TRUE(incoming);
  const auto message = [&](std::string_view body) { return incoming->replies->refusal(422, body); };
  const std::string_view plain = R"({"detail":[{"loc":"body","msg":"missing"}]})";
  EXPECT_NE(message(plain).find(R"("message":"missing")"), std::string::npos) << message(plain);
  const std::string_view nested = R"({"detail":[{"loc":["body",0],"msg":"missing"}]})";
  EXPECT_NE(message(nested).find(R"("message":"body.0: missing")"), std::string::npos);
}

TEST(Surfaces, call_an_error_of_the_router_too_long_by_its_code_alone) {
  const auto refusal = [](std::string_view code) {
    constexpr std::string_view kMessage =
        "no model can serve it (small: its context window has 100 tokens; blind: it reads text "
        "only)";
    return dialects::AnthropicDialect().refusal(
        400, fmt::format(R"({{"error":{{"message":"{}","code":"{}"}}}})", kMessage, code));
  };
  EXPECT_EQ(refusal("no_capable_model").find("prompt is too long"), std::string::npos);
  EXPECT_NE(refusal("context_length_exceeded").find("prompt is too long: no model"),
            std::string::npos);
}

TEST(Surfaces, refuse_an_event_that_never_ends) {
  const std::pair<std::string_view, std::string_view> kRequests[] = {
      {"messages", R"({"model":"m","max_tokens":1,"messages":[]})"},
      {"responses", R"({"model":"m","input":"x"})"},
      {"server", R"({"model":"m","messages":[]})"},
  };
  for (const auto& [surface, request] : kRequests) {
    dialects::ResponseStore store{{}};
    const auto incoming = read(surface, std::string(request), store);
    ASSERT_TRUE(incoming) << surface;
    const std::string piece(size_t{1} << 20, 'x');
    std::string out;
    Result<void> pushed = incoming->replies->push("data: ", out);
    size_t pushes = 0;
    while (pushed && ++pushes < 64) pushed = incoming->replies->push(piece, out);
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code, Code::kTooLarge);
    EXPECT_LE(pushes, 17U);
  }
}

TEST(Surfaces, refuse_a_response_with_too_many_signatures) {
  dialects::ResponseStore store{{}};
  const auto incoming = read("responses", R"({"model":"m","input":"x"})", store);
  ASSERT_TRUE(incoming);
  const std::string signature(size_t{1} << 20, 'x');
  Result<void> pushed;
  size_t calls = 0;
  for (; pushed && calls < 80; ++calls) {
    std::string out;
    const std::string event = fmt::format(
        R"(data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{},"id":"a",)"
        R"("function":{{"name":"f","arguments":"{{}}"}},)"
        R"("extra_content":{{"google":{{"thought_signature":"{}"}}}}}}]}}}}]}})",
        calls, signature);
    pushed = incoming->replies->push(event + "\n\n", out);
  }
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code, Code::kTooLarge);
  EXPECT_EQ(calls, 64U);
}

TEST(Surfaces, a_plain_completion_is_sent_on_byte_for_byte) {
  constexpr std::string_view kBody =
      "{ \"seed\": 12345678901234567890123 ,\"prompt\" :\t\"a\\u0041\\n\" , "
      "\"model\":\"m\",\"x\":[ ]}";
  const dialects::CompletionsDialect surface;
  const auto incoming = surface.read(std::string(kBody), kRequestContext);
  ASSERT_TRUE(incoming);
  const auto back = surface.outgoing(incoming->chat);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, kBody);
}

TEST(Surfaces, a_plain_completion_for_servers_of_chats) {
  for (const json::Document& document : rows("as_chats.jsonl")) {
    const json::Value row = document.root();
    const dialects::CompletionsDialect surface;
    auto incoming = surface.read(text(row, "request"), kRequestContext);
    ASSERT_TRUE(incoming) << row.raw();
    const auto chat = surface.as_chat(incoming->chat);
    if (row.find("error")) {
      ASSERT_FALSE(chat) << row.raw();
      EXPECT_EQ(chat.error().message.substr(0, chat.error().message.find(':')), text(row, "error"));
      EXPECT_EQ(chat.error().code, Code::kInvalid);
    } else {
      ASSERT_TRUE(chat) << chat.error().message;
      EXPECT_EQ(*chat, text(row, "chat"));
    }
  }
}

TEST(Surfaces, a_chat_is_the_same_for_servers_of_chats) {
  const auto chat = dialects::AnthropicDialect().as_chat(R"({"messages":[]})");
  ASSERT_TRUE(chat);
  EXPECT_EQ(*chat, "");
}

dialects::StoredResponse stored(std::string_view owner, size_t bytes) {
  return {std::string(owner), std::string(bytes, 'r'), {}, ""};
}

TEST(ResponseStore, gives_a_response_to_its_owner_until_it_expires) {
  dialects::ResponseStore store({10, 1 << 20, 60});
  store.put("a", stored("me", 10), 1000);
  EXPECT_TRUE(store.get("a", "me", 1059));
  EXPECT_FALSE(store.get("a", "me", 1060));
  EXPECT_FALSE(store.get("a", "you", 1000));
  EXPECT_FALSE(store.get("b", "me", 1000));
  EXPECT_FALSE(store.remove("a", "you", 1000));
  EXPECT_TRUE(store.remove("a", "me", 1000));
  EXPECT_FALSE(store.remove("a", "me", 1000));
  EXPECT_EQ(store.bytes(), 0U);
}

TEST(ResponseStore, forgets_the_oldest_response_when_it_is_full) {
  dialects::ResponseStore store({3, 5000, 60});
  for (const char* id : {"a", "b", "c", "d"}) store.put(id, stored("me", 1000), 1000);
  EXPECT_EQ(store.size(), 3U);
  EXPECT_FALSE(store.get("a", "me", 1000));
  EXPECT_TRUE(store.get("b", "me", 1000));
  store.put("e", stored("me", 3000), 1000);
  EXPECT_LE(store.bytes(), 5000U);
  EXPECT_TRUE(store.get("e", "me", 1000));
  EXPECT_FALSE(store.get("c", "me", 1000));
  store.put("f", stored("me", 6000), 1000);
  EXPECT_FALSE(store.get("f", "me", 1000));
  EXPECT_TRUE(store.get("e", "me", 1000));
  store.put("g", stored("me", 10), 2000);
  EXPECT_EQ(store.size(), 1U);
}

TEST(ResponseStore, counts_the_memory_that_it_holds) {
  dialects::ResponseStore store{{}};
  dialects::StoredResponse response;
  response.messages.reserve(100'000);
  store.put("resp_1", std::move(response), 0);
  EXPECT_GT(store.bytes(), 100'000U);
}

/// Has every response, with one item and `bytes` of a conversation.
class Shared final : public dialects::SharedResponses {
 public:
  explicit Shared(size_t bytes) : messages_(bytes, ' ') {}

  Result<Found> get(std::string_view id, bool, size_t bytes_max) override {
    EXPECT_TRUE(last_.expired()) << "only the items of a response are kept";
    if (++lookups == stop_at) stop.request_stop();
    if (messages_.size() > bytes_max) return fail(Code::kTooLarge, "too large");
    loaded += messages_.size();
    if (id == missing) return Found{};
    const auto item =
        fmt::format(R"({{"id":"msg_{}0","type":"message","role":"user","content":"{}"}})",
                    id.substr(5), item_text);
    dialects::StoredResponse response{
        "me", fmt::format(R"({{"output":[{}]}})", item), {}, messages_};
    response.since = kRequestContext.now;
    auto out = std::make_shared<const dialects::StoredResponse>(std::move(response));
    last_ = out;
    return Found{false, std::move(out)};
  }
  void put(std::string_view, dialects::ResponsePointer, int64_t, std::function<void()>) override {}
  Result<void> remove(std::string_view, int64_t) override { return {}; }
  std::chrono::milliseconds patience(const dialects::StoredResponse&) const override { return {}; }
  Stats stats() const override { return {}; }

  size_t lookups = 0, loaded = 0, stop_at = 0;
  std::string missing, item_text;
  std::stop_source stop;

 private:
  const std::string messages_;
  std::weak_ptr<const dialects::StoredResponse> last_;
};

std::string response_number(int number) {
  return fmt::format("{:032}", number);
}

/// Refers to the items of responses 0 up to `count`, each `times` times. Returns the refusal.
std::optional<Error> refer(dialects::ResponseStore& store, int count, int times = 1,
                           std::stop_token stop = {}) {
  std::string items;
  for (int i = 0; i < count * times; ++i) {
    items += fmt::format(R"({}{{"type":"item_reference","id":"msg_{}0"}})", i == 0 ? "" : ",",
                         response_number(i % count));
  }
  dialects::RequestContext context = kRequestContext;
  context.stop = std::move(stop);
  const auto incoming = dialects::ResponsesDialect(store).read(
      fmt::format(R"({{"model":"m","input":[{}]}})", items), context);
  EXPECT_TRUE(incoming);
  return incoming->losses.refusal(false);
}

std::optional<Error> refer(Shared& shared, int count, int times = 1) {
  dialects::ResponseStore store{{}};
  store.share(&shared);
  return refer(store, count, times, shared.stop.get_token());
}

TEST(ItemReferences, are_refused_as_their_memory_is) {
  for (const Code code : {Code::kTooLarge, Code::kOverloaded}) {
    Shared shared(1000);
    dialects::ResponseStore store{{}};
    store.share(&shared);
    dialects::RequestContext context = kRequestContext;
    context.make_room = [code](size_t) -> Result<void> { return fail(code, "no room"); };
    const auto incoming = dialects::ResponsesDialect(store).read(
        fmt::format(
            R"({{"model":"m","input":[{0},{0}]}})",
            fmt::format(R"({{"type":"item_reference","id":"msg_{}0"}})", response_number(1))),
        context);
    ASSERT_TRUE(incoming);
    const std::optional<Error> refusal = incoming->losses.refusal(false);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code, code);
    EXPECT_EQ(shared.lookups, 1U);
  }
}

TEST(ItemReferences, read_each_response_once) {
  Shared shared(1000);
  EXPECT_FALSE(refer(shared, 128, 3));
  EXPECT_EQ(shared.lookups, 128U);
}

TEST(ItemReferences, read_no_more_than_a_request_may) {
  Shared shared(1000);
  const auto refusal = refer(shared, 129);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::kTooLarge);
  EXPECT_EQ(refusal->message, "input[128].id: a request may refer to at most 128 stored responses");
  EXPECT_EQ(shared.lookups, 128U);

  constexpr size_t kMega = size_t{1} << 20;
  Shared large(8 * kMega);
  const auto too_large = refer(large, 60);
  ASSERT_TRUE(too_large);
  EXPECT_EQ(too_large->code, Code::kTooLarge);
  EXPECT_LE(large.loaded, 64 * kMega);
  EXPECT_LE(large.lookups, 9U);

  Shared repeated(1000);
  repeated.item_text.assign(33 * kMega, 'x');
  const auto too_long = refer(repeated, 1, 2);
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->code, Code::kTooLarge);
}

TEST(ItemReferences, read_any_number_from_memory) {
  Shared source(1000);
  dialects::ResponseStore store{{}};
  for (int i = 0; i < 200; ++i) {
    const std::string id = "resp_" + response_number(i);
    const auto found = source.get(id, false, 1'000'000);
    ASSERT_TRUE(found);
    store.put(id, *found->response, kRequestContext.now);
  }
  EXPECT_FALSE(refer(store, 200));
}

TEST(ItemReferences, read_nothing_more_after_a_refusal_or_without_a_client) {
  Shared shared(1000);
  shared.missing = "resp_" + response_number(2);
  const auto refusal = refer(shared, 60);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, Code::kInvalid);
  EXPECT_EQ(shared.lookups, 3U);

  Shared left(1000);
  left.stop_at = 5;
  EXPECT_TRUE(refer(left, 60));
  EXPECT_EQ(left.lookups, 5U);
}

constexpr std::string_view kCompletion =
    R"({"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,
        "message":{"role":"assistant","content":"b"},"finish_reason":"stop"}]})";

TEST(ItemReferences, have_the_long_texts_of_input_items) {
  dialects::ResponseStore store{{}};
  const std::string text(3000, 'x'), token = response_number(1);
  dialects::RequestContext context = kRequestContext;
  context.token = token;
  const dialects::ResponsesDialect surface(store);
  const auto first = surface.read(
      fmt::format(R"({{"model":"m","input":[{{"role":"user","content":"{}"}}]}})", text), context);
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->replies->whole(std::string(kCompletion)));
  const auto stored = store.all(kRequestContext.now).back().second;
  EXPECT_LT(stored->input.kept.size(), text.size()) << "the messages have the text";
  const auto second = surface.read(
      fmt::format(R"({{"model":"m","input":[{{"type":"item_reference","id":"msg_{}i0"}}]}})",
                  token),
      context);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->losses.refusal(false));
  EXPECT_NE(second->chat.find(fmt::format(R"("{}")", text)), std::string::npos);
}

/// The input items of a stored response whose texts are `filling`, after an earlier response.
std::string list_items_with(std::string_view filling) {
  dialects::ResponseStore store{{}};
  store.put("resp_a", {"me", "{}", {}, R"({"role":"user","content":"before"})"},
            kRequestContext.now);
  std::string request =
      R"({"model":"m","previous_response_id":"resp_a","input":[{"role":"user","content":"TEXT"},
          {"role":"user","content":[{"type":"input_text","text":"TEXT"}]},
          {"role":"user","content":[{"type":"input_text","text":"TEXT"},
              {"type":"input_image","image_url":"data:"},{"type":"input_text","text":"TEXT"}]},
          {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
          {"role":"assistant","content":"TEXT"},
          {"type":"function_call","call_id":"d","name":"f","arguments":"{}"},
          {"type":"function_call_output","call_id":"c","output":"TEXT"},
          {"type":"function_call_output","call_id":"d","output":
              [{"type":"input_text","text":"TEXT"}]},
          {"role":"system","content":"TEXT"},
          {"type":"reasoning","summary":[{"type":"summary_text","text":"TEXT"}]}]})";
  for (size_t at = 0; (at = request.find("TEXT", at)) != std::string::npos; at += filling.size())
    request.replace(at, 4, filling);
  const auto incoming = read("responses", request, store);
  EXPECT_TRUE(incoming) << incoming.error().message;
  const auto whole = incoming->replies->whole(std::string(kCompletion));
  EXPECT_TRUE(whole) << whole.error().message;
  const auto stored = store.all(kRequestContext.now).back().second;
  if (filling.size() > 1000) {
    EXPECT_LT(stored->input.kept.size(), 4 * filling.size()) << "the messages have the others";
  }
  std::string input;
  stored->input.append_to(input, stored->messages);
  EXPECT_EQ(stored->input.size(), input.size());
  return *dialects::list_input_items(*stored, "?order=asc&limit=100");
}

TEST(ResponseStore, has_long_texts_once) {
  const std::string filling(3000, 'x');
  std::string expected = list_items_with("TEXT");
  for (size_t at = 0; (at = expected.find("TEXT", at)) != std::string::npos; at += filling.size())
    expected.replace(at, 4, filling);
  EXPECT_EQ(list_items_with(filling), expected);
}

TEST(ResponseStore, lists_input_items) {
  dialects::StoredResponse response;
  response.input.kept = R"({"id":"a"},{"id":"b"},{"id":"c"})";
  EXPECT_EQ(
      *dialects::list_input_items(response, ""),
      R"({"object":"list","data":[{"id":"c"},{"id":"b"},{"id":"a"}],"first_id":"c","last_id":"a","has_more":false})");
  EXPECT_EQ(
      *dialects::list_input_items(response, "?order=asc&limit=1&after=a"),
      R"({"object":"list","data":[{"id":"b"}],"first_id":"b","last_id":"b","has_more":true})");
  EXPECT_EQ(dialects::list_input_items(response, "?after=z").error().message,
            "after: there is no such item");
  EXPECT_FALSE(dialects::list_input_items(response, "?what=1"));
  EXPECT_TRUE(dialects::list_input_items(dialects::StoredResponse{}, "?limit=100"));
}

}  // namespace
}  // namespace signalbox::dialects::test
