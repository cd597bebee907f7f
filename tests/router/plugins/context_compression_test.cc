// Tests the plugin context_compression from data, one case per line of context_compression.jsonl:
//
//   {"name", "api": "messages" or "responses"?, "configuration": {...}?, "control": header?,
//    "window": tokens?, "reply": tokens?, "question", "request": {...}, "outcome",
//    "results": how many were shortened?, "becomes": {PATH: text}?}
//
// A PATH is like "messages.2.content"; all other values must be as they were. "LONG" stands
// for six sentences without a word of the questions.

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/compress/excerpt.h"
#include "router/config/load.h"
#include "router/plugins/context_compression/context_compression.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {
namespace {

using json::Value;

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string filler() {
  std::string out;
  for (int i = 1; i < 7; ++i)
    out += fmt::format("Nothing of note happened on day {} of the voyage, said mate {}.{}", i, i,
                       i < 6 ? " " : "");
  return out;
}

config::ContextCompressionPlugin plugin_of(const Value& row) {
  const auto configuration = row.find("configuration");
  const std::string text = fmt::format(
      R"({{"version": "v0.3", "providers": {{"defaults": {{"default_model": "m"}},
"models": [{{"name": "m", "backend_refs": [{{"type": "echo"}}]}}]}}, "routing": {{"decisions":
[{{"name": "d", "plugins": [{{"type": "context_compression", "configuration": {}}}]}}]}}}})",
      configuration ? configuration->raw() : "{}");
  auto loaded = config::parse(text, "case.yaml");
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return *loaded->config.routing.decisions[0].context_compression;
}

void flatten(const Value& value, const std::string& path, std::map<std::string, std::string>& out) {
  size_t index = 0;
  for (const Value& item : value.items()) flatten(item, fmt::format("{}.{}", path, index++), out);
  for (const json::Member& member : value.members())
    flatten(member.value, fmt::format("{}.{}", path, member.key), out);
  if (value.is_string()) {
    out[path] = value.text();
  } else if (!value.is_array() && !value.is_object()) {
    out[path] = value.raw();
  }
}

std::map<std::string, std::string> leaves_of(const Value& value) {
  std::map<std::string, std::string> out;
  flatten(value, "", out);
  return out;
}

uint64_t number_of(const Value& row, std::string_view key) {
  const auto found = row.find(key);
  return found ? static_cast<uint64_t>(*found->integer()) : 0;
}

std::string_view text_of(const Value& row, std::string_view key) {
  const auto found = row.find(key);
  return found ? found->text() : std::string_view();
}

void run(const Value& row) {
  const std::string_view api_name = text_of(row, "api");
  std::optional<request::Api> api;
  if (api_name == "messages") api = request::Api::kMessages;
  if (api_name == "responses") api = request::Api::kResponses;
  const std::string body = replace_all(std::string(row.find("request")->raw()), "LONG", filler());
  const auto document = json::Document::parse(body);
  ASSERT_TRUE(document) << document.error().message;
  const CompressedContext out =
      compress_context(plugin_of(row), {number_of(row, "window"), number_of(row, "reply")},
                       text_of(row, "control"), *document, api, text_of(row, "question"));
  EXPECT_EQ(name_of(out.report.outcome), text_of(row, "outcome"));
  const std::string shorter = splice::apply(document->source(), out.edits);
  if (out.report.outcome != ContextOutcome::kUnused) {
    EXPECT_EQ(out.report.tokens_after, shorter.size() / compress::kBytesPerToken);
  }
  EXPECT_EQ(out.report.results, number_of(row, "results"));
  const auto result = json::Document::parse(shorter);
  ASSERT_TRUE(result) << result.error().message;
  std::map<std::string, std::string> expected = leaves_of(document->root());
  if (const auto becomes = row.find("becomes")) {
    for (const json::Member& each : becomes->members()) {
      const std::string path = fmt::format(".{}", each.key);
      EXPECT_TRUE(expected.contains(path)) << path;
      expected[path] = replace_all(std::string(each.value.text()), "LONG", filler());
    }
  }
  std::map<std::string, std::string> actual = leaves_of(result->root());
  for (const auto& [path, text] : expected) EXPECT_EQ(actual[path], text) << path;
  EXPECT_EQ(actual.size(), expected.size());
}

TEST(ContextCompression, matches_the_listed_results) {
  const auto path = std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                    "tests/router/plugins/context_compression.jsonl";
  std::ifstream in(path);
  std::string line;
  int cases = 0;
  for (; std::getline(in, line); ++cases) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << cases + 1 << ": " << row.error().message;
    SCOPED_TRACE(row->root().find("name")->text());
    run(row->root());
  }
  EXPECT_GT(cases, 0);
}

TEST(Excerpt, keeps_the_passage_that_answers) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("Order {} left the warehouse of zone {} on time.\n", 1000 + i, i % 7);
  text += "Order 9317 was returned, because the parcel was damaged by rain.\n";
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("Order {} left the warehouse of zone {} on time.\n", 5000 + i, i % 7);
  const compress::Excerpt excerpt(text, "Why was order 9317 returned?", 2000);
  const std::string shorter = excerpt.shortened(2000);
  EXPECT_LE(shorter.size(), 2000u);
  EXPECT_NE(shorter.find("9317 was returned, because the parcel"), std::string::npos) << shorter;
  EXPECT_TRUE(shorter.starts_with("Order 1000 left")) << shorter;
  const compress::Excerpt other(text, "Did order 1707 leave on time?", 2000);
  EXPECT_NE(other.shortened(2000).find("Order 1707 left"), std::string::npos);
}

TEST(Excerpt, takes_linear_time) {
  const auto seconds = [](size_t rows) {
    std::string text = "[";
    for (size_t i = 0; i < rows; ++i)
      text +=
          fmt::format(R"({}{{"id": {}, "text": {}}})", i == 0 ? "" : ",", i, json::quote(filler()));
    text += "]";
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto began = std::clock();
      const compress::Excerpt excerpt(text, "Why was order 9317 returned?", 4000);
      EXPECT_LT(excerpt.shortened(4000).size(), text.size());
      best = std::min(best, static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double small = seconds(500), large = seconds(5000);
  EXPECT_LT(large, 40 * small);
  RecordProperty("ms_2_megabytes", static_cast<int>(large * 1000));
}

// Questions about tables from BIPIA (MIT license): each result of a tool is twenty tables, about
// 8,500 tokens, of which 1,000 stay. An answer is kept if a line of its own table that contains it
// is kept whole. Counts the answers that are kept.
TEST(Excerpt, keeps_lines_that_answer_questions) {
  const auto path = std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                    "../shared/data/more/bipia/benchmark_table_test.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "there is no " << path;
  struct Row {
    std::string context, question, answer;
  };
  std::vector<Row> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row);
    const auto text = [&](std::string_view key) {
      return std::string(row->root().find(key)->text());
    };
    rows.push_back({text("context"), text("question"), text("ideal")});
  }
  constexpr size_t kTables = 20, kBytes = 4000;
  const auto is_kept = [](const Row& row, std::string_view text) {
    std::istringstream lines(row.context);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(row.answer) != std::string::npos && text.find(line) != std::string::npos)
        return true;
    }
    return false;
  };
  int asked = 0, kept = 0, at_the_beginning = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].context.find(rows[i].answer) == std::string::npos) continue;
    std::string text;
    for (size_t k = 0; k < kTables; ++k)
      text += rows[(i + rows.size() - i % kTables + k) % rows.size()].context + "\n\n";
    const std::string shorter = compress::Excerpt(text, rows[i].question, kBytes).shortened(kBytes);
    EXPECT_LE(shorter.size(), kBytes);
    ++asked;
    kept += is_kept(rows[i], shorter) ? 1 : 0;
    at_the_beginning += is_kept(rows[i], std::string_view(text).substr(0, kBytes)) ? 1 : 0;
  }
  RecordProperty("asked", asked);
  RecordProperty("kept", kept);
  RecordProperty("kept_by_cutting", at_the_beginning);
  std::cout << kept << " of " << asked << " answers kept; by cutting " << at_the_beginning << "\n";
  EXPECT_GE(kept, 50);
}

}  // namespace
}  // namespace signalbox::plugins
