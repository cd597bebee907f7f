// The memory that is reserved for a request before it is read must cover what reading takes,
// whatever its shape. This file counts the memory of the program.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "router/dialects/anthropic.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/completions.h"
#include "router/dialects/responses.h"
#include "router/request/chat_request.h"

namespace {

std::atomic<size_t> held{0};
std::atomic<size_t> peak{0};

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  const size_t now = held += malloc_usable_size(memory);
  if (now > peak) peak = now;
  return memory;
}

}  // namespace

// Not inlined, because the compiler would report a mismatched pair.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = counted(std::malloc(bytes))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted(std::malloc(bytes));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) held -= malloc_usable_size(memory);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

namespace signalbox::request {
namespace {

constexpr size_t kBytes = 400'000;
/// The part that does not depend on the size of a request.
constexpr size_t kFixed = 24 << 10;

std::string repeated(std::string_view part, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += part;
  return out;
}

/// A body of a repeated part.
struct Shape {
  std::string before, part, after;

  std::string body() const {
    std::string out = before + repeated(part, kBytes) + after;
    out.shrink_to_fit();
    return out;
  }
};

const std::string kProse = "The quick brown fox jumps over the lazy dog while it rains";

/// The shapes of a text: plain, with escapes of each kind, and JSON with strings short and long.
std::vector<Shape> texts() {
  return {{"urgent ", "abcdefg ", ""},
          {"", "\\n", ""},
          {"", "\\u0041", ""},
          {"", kProse + "\\n", ""},
          {"[", "[],", "1]"},
          {"[", "{},", "1]"},
          {"[", R"(\"ab\\n\",)", "1]"},
          {R"([\"\\n)", kProse, R"(\"])"},
          {R"([\")", kProse + R"(\\n)", R"(\"])"},
          {"[", R"(\")" + kProse + R"(\\n\",)", "1]"},
          {"{", R"(\"a\":{\"b\":\"\\u0041\"},)", R"(\"c\":1})"}};
}

/// Chats that consist of one part of this kind.
std::vector<Shape> chats() {
  std::vector<Shape> out;
  const auto add = [&out](const std::string& before, const std::string& after) {
    for (const Shape& text : texts())
      out.push_back({before + text.before, text.part, text.after + after});
  };
  const std::string start = R"({"model":"auto","max_tokens":9,"messages":[)";
  const std::string user = start + R"({"role":"user","content":"a"}],)";
  add(start + R"({"role":"user","content":")", R"("}]})");
  add(start + R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":")",
      R"("}]}]})");
  add(start + R"({"role":"system","content":")", R"("},{"role":"user","content":"a"}]})");
  add(start + R"({"role":"assistant","tool_calls":[{"id":"a","type":"function","function":
              {"name":"f","arguments":")",
      R"("}}]},{"role":"tool","content":"b","tool_call_id":"a"}]})");
  add(user + R"("tools":[{"type":"function","function":{"name":"f","description":")", R"("}}]})");
  add(user + R"("metadata":{"a":")", R"("}})");
  add(user + R"("prediction":{"type":"content","content":")", R"("}})");
  const std::string prose = "\"" + kProse + "\",";
  const std::string parts[] = {R"({"type":"text","text":"a"},)",
                               R"({"type":"text","text":"a\n"},)"};
  for (const std::string& part : parts)
    out.push_back(
        {start + R"({"role":"user","content":[)", part, R"({"type":"text","text":"a"}]}]})"});
  for (const std::string& part : {std::string("[],"), std::string("1,"), std::string("\"\\n\","),
                                  repeated("[", 100) + repeated("]", 100) + ",", prose}) {
    out.push_back({user + R"("x":[)", part, "1]}"});
    out.push_back({user + R"("tools":[{"type":"function","function":{"name":"f","parameters":
                   {"enum":[)",
                   part, "1]}}}]}"});
  }
  return out;
}

/// Returns the most memory that the call takes, its argument included.
template <class Call>
size_t peak_of(std::string& body, const Call& call) {
  const size_t before = held - body.capacity();
  peak = held.load();
  call();
  return peak - before;
}

/// The beginning and the repeated part of the body, for messages.
std::string name_of(std::string_view body) {
  return std::string(body.substr(0, 300));
}

TEST(RequestMemory, the_test_counts_memory) {
  const size_t before = held;
  ::operator delete(::operator new(1000));  // the compiler may remove `delete new`
  EXPECT_EQ(held, before);
  EXPECT_GE(peak, before + 1000);
}

TEST(RequestMemory, reading_a_chat_takes_at_most_what_is_reserved) {
  for (const Shape& shape : chats()) {
    std::string body = shape.body();
    const std::string name = name_of(body);
    const size_t reserved = ChatRequest::parsing_bytes(body) + kFixed;
    const size_t before = held - body.capacity();
    std::optional<Result<ChatRequest>> read;
    const size_t taken = peak_of(body, [&] { read = ChatRequest::parse(std::move(body)); });
    ASSERT_TRUE(*read) << name << ": " << read->error().message;
    EXPECT_LE(taken, reserved) << name;
    EXPECT_LE(held - before, (*read)->memory_bytes() + kFixed) << name;
    EXPECT_GE(held - before + kFixed, (*read)->memory_bytes()) << name;
  }
}

TEST(RequestMemory, many_small_messages_count_by_their_number) {
  std::string body = R"({"model":"auto","messages":[)" + repeated(R"({"role":""},)", 700'000) +
                     R"({"role":"user"}]})";
  body.shrink_to_fit();
  const size_t reserved = ChatRequest::parsing_bytes(body) + kFixed;
  std::optional<Result<ChatRequest>> read;
  EXPECT_LE(peak_of(body, [&] { read = ChatRequest::parse(std::move(body)); }), reserved);
  ASSERT_TRUE(*read) << read->error().message;
}

/// Reads the shapes and compares with what is reserved and with what the result reports.
void expect_read_within(const dialects::Dialect& dialect, const std::vector<Shape>& shapes) {
  const dialects::RequestContext context{"r-1", "0123456789abcdef0123456789abcdef", "me", 1000};
  for (const Shape& shape : shapes) {
    std::string body = shape.body();
    const std::string name = name_of(body);
    const size_t reserved = dialects::kReadCopies * body.size() + kFixed;
    const size_t before = held - body.capacity();
    std::optional<Result<dialects::Incoming>> read;
    const size_t taken = peak_of(body, [&] { read = dialect.read(std::move(body), context); });
    EXPECT_LE(taken, reserved) << name;
    if (!*read) continue;  // the API has no such part
    const dialects::Incoming& in = **read;
    const size_t known = in.chat.capacity() + in.losses.memory_bytes() +
                         (in.source ? in.source->memory_bytes() : 0) +
                         (in.replies ? in.replies->memory_bytes() : 0);
    EXPECT_LE(held - before, known + kFixed) << name;
  }
}

/// The same shapes with other names of members.
std::vector<Shape> with(std::vector<Shape> shapes, std::string_view from, std::string_view to) {
  for (Shape& shape : shapes) {
    const size_t at = shape.before.find(from);
    if (at != std::string::npos) shape.before.replace(at, from.size(), to);
  }
  return shapes;
}

std::vector<Shape> of_one_text(const std::string& before, const std::string& after) {
  std::vector<Shape> out;
  for (const Shape& text : texts())
    out.push_back({before + text.before, text.part, text.after + after});
  return out;
}

TEST(RequestMemory, reading_another_api_takes_at_most_what_is_reserved) {
  expect_read_within(dialects::AnthropicDialect(), chats());
  expect_read_within(dialects::AnthropicDialect(),
                     of_one_text(R"({"model":"a","max_tokens":9,"system":")",
                                 R"(","messages":[{"role":"user","content":"a"}]})"));
  expect_read_within(dialects::CompletionsDialect(),
                     of_one_text(R"({"model":"a","prompt":")", R"("})"));
  dialects::ResponseStore store({});
  const dialects::ResponsesDialect responses(store);
  expect_read_within(responses, with(chats(), "\"messages\"", "\"input\""));
  expect_read_within(responses, of_one_text(R"({"model":"a","input":")", R"("})"));
  expect_read_within(responses,
                     of_one_text(R"({"model":"a","input":"a","instructions":")", R"("})"));
}

TEST(RequestMemory, translations_for_servers_take_at_most_what_is_reserved) {
  const dialects::CompletionsDialect completions;
  for (const Shape& shape : chats()) {
    std::string chat = shape.body();
    const auto taken = [&chat](const auto& call) { return peak_of(chat, call) - chat.capacity(); };
    const size_t size = chat.size();
    EXPECT_LE(taken([&] { (void)dialects::to_messages(chat, 1); }),
              dialects::kMessagesCopies * size + kFixed)
        << name_of(chat);
    EXPECT_LE(taken([&] { (void)completions.outgoing(chat); }),
              dialects::kOutgoingCopies * size + kFixed)
        << name_of(chat);
    EXPECT_LE(taken([&] { (void)completions.as_chat(chat); }),
              dialects::kOutgoingCopies * size + kFixed)
        << name_of(chat);
  }
}

}  // namespace
}  // namespace signalbox::request
