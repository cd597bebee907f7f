// The mutations keep the form of their input, reach every kind of change, and depend on the seed
// alone.

#include "tests/fuzz/mutations.h"

#include <gtest/gtest.h>

#include <set>

#include "base/json.h"

namespace signalbox::fuzz {
namespace {

constexpr unsigned kSeeds = 10'000;
constexpr std::string_view kChat =
    R"({"model":"auto", "messages":[{"role":"user","content":"h\"i"},{"role":"tool","content":[]}],"n":1,"stream":true})";
constexpr std::string_view kStream =
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\nevent: ping\ndata: {}\n\ndata: "
    "[DONE]\n\n";
constexpr std::string_view kRequest =
    "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
    "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";

// Stands for libFuzzer's mutation.
std::string changed(std::string_view bytes) {
  return std::string(bytes) + "\x01";
}

std::string mutated(std::string_view input, unsigned seed) {
  Random random(seed);
  return mutate(input, random, changed).value();
}

std::set<std::string> all_of(std::string_view input) {
  std::set<std::string> out;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) out.insert(mutated(input, seed));
  return out;
}

bool any_contains(const std::set<std::string>& texts, std::string_view part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != text.npos; });
}

TEST(Mutations, json_stays_json_over_many_steps) {
  size_t parsed = 0, steps = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    std::string text(kChat);
    for (int step = 0; step < 20 && text.size() < 4096; ++step, ++steps) {
      text = mutate_json(text, random, changed);
      const bool is_json = json::Document::parse(text).has_value();
      parsed += is_json;
      if (!is_json) break;
    }
  }
  // A result that does not parse has a number or an escape that is out of range on purpose.
  EXPECT_GT(parsed * 100, steps * 85) << parsed << " of " << steps;
}

TEST(Mutations, json_changes_members_elements_names_values_and_texts) {
  const std::set<std::string> texts = all_of(kChat);
  EXPECT_GT(texts.size(), 500);
  for (const std::string_view part :
       {R"("n":1,"n":1)", R"({"role":"user","content":"h\"i"},{"role":"user")", R"("n":[1])",
        R"("stream":1e400)", R"("model":"\u0061uto")", "\"model\":\"auto\\u0001\""})
    EXPECT_TRUE(any_contains(texts, part)) << part;
  const bool removed = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find("\"n\"") == text.npos && json::Document::parse(text);
  });
  EXPECT_TRUE(removed);
}

TEST(Mutations, events_are_repeated_removed_moved_and_changed_inside) {
  const std::set<std::string> texts = all_of(kStream);
  EXPECT_TRUE(texts.contains("event: ping\ndata: {}\n\ndata: [DONE]\n\n"));
  EXPECT_TRUE(any_contains(texts, "data: [DONE]\n\ndata: [DONE]\n\n"));
  EXPECT_TRUE(any_contains(texts, "data: [DONE]\n\nevent: ping"));
  EXPECT_TRUE(any_contains(texts, "\r\n"));
  EXPECT_TRUE(any_contains(texts, "data: \ndata: {"));
  EXPECT_TRUE(any_contains(texts, R"("content":["a"])"));
}

TEST(Mutations, http_changes_fields_line_ends_and_framing) {
  const std::set<std::string> texts = all_of(kRequest);
  EXPECT_TRUE(any_contains(texts, "Content-Length: 5, 5\r\n"));
  EXPECT_TRUE(any_contains(texts, "Host: a\nTransfer"));
  EXPECT_TRUE(any_contains(texts, "Transfer-Encoding : chunked"));
  EXPECT_TRUE(any_contains(texts, "ffffffffffffffff\r\n"));
  EXPECT_TRUE(any_contains(texts, "0\r\n\r\nPOST /v1/chat"));
  for (const std::string& text : texts) EXPECT_NE(text.find("HTTP/1.1"), text.npos);
}

TEST(Mutations, bytes_that_select_a_mode_stay_in_front) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    EXPECT_TRUE(mutated("\x07" + std::string(kChat), seed).starts_with("\x07"));
    EXPECT_TRUE(mutated("\x07\x01" + std::string(kStream), seed).starts_with("\x07\x01"));
  }
}

TEST(Mutations, other_forms_are_left_to_the_fuzzer) {
  Random random(1);
  for (const std::string_view text : {"", "a", "{\"a\":", "key: value\n",
                                      "\x7f"
                                      "ELF"})
    EXPECT_FALSE(mutate(text, random, changed)) << text;
}

TEST(Mutations, equal_seeds_give_equal_results) {
  for (unsigned seed = 1; seed <= 50; ++seed) EXPECT_EQ(mutated(kChat, seed), mutated(kChat, seed));
}

}  // namespace
}  // namespace signalbox::fuzz
