// Tests databases and rankings of tools from data, one case per line, and the cache of tool
// descriptions.
//
//   databases.jsonl  {"name", "database", "tools": [...] or "error": part of the message}
//   rankings.jsonl   {"name", "query", "similarities": [of kTools], weight or bound: value?,
//                     "ranked": [names]}

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/plugins/tools/database.h"
#include "router/plugins/tools/ranking.h"
#include "router/plugins/tools/report.h"
#include "router/plugins/tools/vector_cache.h"

namespace signalbox::plugins {
namespace {

void each_case(std::string_view file, const std::function<void(const json::Value&)>& run) {
  std::ifstream in(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/tools" / file);
  int cases = 0;
  for (std::string line; std::getline(in, line); ++cases) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << file << ":" << cases + 1 << ": " << row.error().message;
    SCOPED_TRACE(row->root().find("name")->text());
    run(row->root());
  }
  EXPECT_GT(cases, 0);
}

TEST(ToolDatabase, is_read_as_listed) {
  each_case("databases.jsonl", [](const json::Value& row) {
    const auto tools = parse_database(std::string(row.find("database")->raw()));
    if (const auto error = row.find("error")) {
      ASSERT_FALSE(tools);
      EXPECT_EQ(tools.error().message, error->text());
      return;
    }
    ASSERT_TRUE(tools) << tools.error().message;
    size_t i = 0;
    for (const json::Value& expected : row.find("tools")->items()) {
      ASSERT_LT(i, tools->size());
      const Tool& tool = (*tools)[i++];
      EXPECT_EQ(tool.name, expected.find("name")->text());
      EXPECT_EQ(tool.description, expected.find("description")->text());
      EXPECT_EQ(tool.category, expected.find("category")->text());
      EXPECT_EQ(tool.definition, expected.find("definition")->text());
      std::vector<std::string> tags;
      for (const json::Value& tag : expected.find("tags")->items()) tags.emplace_back(tag.text());
      EXPECT_EQ(tool.tags, tags);
    }
    EXPECT_EQ(i, tools->size());
  });
}

TEST(ToolDatabase, has_a_limit) {
  std::string text = "[";
  for (size_t i = 0; i <= kToolsMax; ++i)
    text +=
        fmt::format("{}{{\"tool\":{{\"function\":{{\"name\":\"t{}\"}}}}}}", i == 0 ? "" : ",", i);
  const auto tools = parse_database(text + "]");
  ASSERT_FALSE(tools);
  EXPECT_EQ(tools.error().code, Code::kTooLarge);
  EXPECT_EQ(read_database("/nowhere/tools.json").error().code, Code::kNotFound);
}

TEST(ToolRanking, matches_the_listed_ones) {
  const std::vector<Tool> all = {
      {"get_weather", "the weather of a city", "Geo", {"rain", "天气"}, ""},
      {"send_mail", "write to somebody", "office", {"letter"}, ""},
      {"findRoute", "from here to there", "geo", {}, ""}};
  each_case("rankings.jsonl", [&](const json::Value& row) {
    const auto number = [&](std::string_view key, double otherwise) {
      const auto found = row.find(key);
      return found ? *found->number() : otherwise;
    };
    const auto text = [&](std::string_view key) {
      const auto found = row.find(key);
      return found ? std::string(found->text()) : std::string();
    };
    const Weights weights{number("embed", 0), number("lexical", 0), number("tag", 0),
                          number("name_weight", 0), number("category_weight", 0)};
    const Bounds bounds{.top_k = static_cast<size_t>(number("top_k", 0)),
                        .similarity_min = number("similarity_min", -1),
                        .pool = static_cast<size_t>(number("pool", 0)),
                        .overlap_min = static_cast<size_t>(number("overlap_min", 0)),
                        .score_min = number("score_min", 0),
                        .only_category = row.find("only_category").has_value()};
    std::vector<Candidate> candidates;
    for (const json::Value& each : row.find("similarities")->items())
      candidates.push_back({&all[candidates.size()], *each.number()});
    std::vector<std::string> names, expected;
    for (const Ranked& each : rank(text("query"), text("category"), candidates, weights, bounds)) {
      names.push_back(all[each.candidate].name);
      EXPECT_GE(each.score, 0);
      EXPECT_LE(each.score, 1);
    }
    for (const json::Value& each : row.find("ranked")->items()) expected.emplace_back(each.text());
    EXPECT_EQ(names, expected);
  });
}

TEST(ToolWords, words_are_taken_from_names_and_descriptions) {
  EXPECT_EQ(words_of_tool("get_weather", "of a city"), "get weather of a city");
  EXPECT_EQ(words_of_tool("docs.search-all", ""), "docs search all");
  EXPECT_EQ(words_in("Get_the Get THE über 天气"),
            (std::vector<std::string>{"get", "the", "über", "天", "气"}));
}

TEST(VectorCache, forgets_the_least_recently_used_vector) {
  VectorCache cache(2);
  const auto vector = [](float x) { return std::make_shared<const std::vector<float>>(1, x); };
  cache.put("a", vector(1));
  cache.put("b", vector(2));
  ASSERT_NE(cache.find("a"), nullptr);
  cache.put("c", vector(3));
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_EQ(cache.find("a")->front(), 1);
  EXPECT_EQ(cache.find("c")->front(), 3);
  cache.put("c", vector(4));
  EXPECT_EQ(cache.find("c")->front(), 4);
}

TEST(ToolCounters, counters_add_up_the_results_of_requests) {
  const uint64_t selections = counters().selections, saved = counters().tokens_saved;
  const uint64_t fallbacks = counters().fallbacks, sent = counters().sent;
  count({.strategy = "filter", .offered = 9, .sent = 2, .tokens_saved = 100, .fallback = {}});
  count({.strategy = "add", .offered = 0, .sent = 3, .tokens_saved = -50, .fallback = "empty"});
  EXPECT_EQ(counters().selections - selections, 2u);
  EXPECT_EQ(counters().fallbacks - fallbacks, 1u);
  EXPECT_EQ(counters().sent - sent, 5u);
  EXPECT_EQ(counters().tokens_saved - saved, 100u);
}

}  // namespace
}  // namespace signalbox::plugins
