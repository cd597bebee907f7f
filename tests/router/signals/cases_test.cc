// Tests signals from data: every line of cases/*.jsonl is a routing configuration, a request and
// the expected explanation.
//
//   {"name": ..., "signals": {...}, "projections": {...}?, "decisions": [...]?, "catalog": {...}?,
//    "router": {...}?, "text": ... or "request": {...}, "headers": {...}?, "no_embedder": true?,
//    "classifiers": {DIRECTORY: {"labels": [...], "tokens": true?, "fails": true?, "raw": true?,
//    "independent": true?, "languages": [...]?}}?, "expect": {TYPE: {NAME: {member: value}}}?,
//    "decision": ...?, "refused": ...?, "failed": ...?, "words": part of the text for people?,
//    "foreign": true if the thresholds are those of another embedding model?}
//
// Numbers may differ by 1e-4. "DATA" stands for a directory of test files.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/router.h"
#include "tests/router/data_case.h"

namespace signalbox::routing {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/signals/cases";

std::string raw(const json::Value& row, std::string_view key, std::string_view fallback) {
  return member_text(row, key, fallback, kCases);
}

std::string configuration(const json::Value& row) {
  return fmt::format(R"({{"version": "v0.3",
"providers": {{"defaults": {{"default_model": "m"}}, "models": [{{"name": "m", "backend_refs": [{{"type": "echo"}}]}}]}},
"global": {{"model_catalog": {}, "router": {}}},
"routing": {{"signals": {}, "projections": {}, "decisions": {}}}}})",
                     raw(row, "catalog", "{}"), raw(row, "router", "{}"), raw(row, "signals", "{}"),
                     raw(row, "projections", "{}"), raw(row, "decisions", "[]"));
}

void compare(const json::Value& expected, const json::Value& actual, const std::string& where) {
  if (expected.is_object()) {
    for (const json::Member& each : expected.members()) {
      const auto found = actual.find(each.key);
      if (!found) {
        ADD_FAILURE() << where << "." << each.key << ": expected " << each.value.raw()
                      << ", found nothing in " << actual.raw();
        continue;
      }
      compare(each.value, *found, where + "." + std::string(each.key));
    }
    return;
  }
  if (expected.is_array() && actual.is_array()) {
    std::string expected_items, actual_items;
    for (const json::Value& item : expected.items()) expected_items.append(item.raw()) += ' ';
    for (const json::Value& item : actual.items()) actual_items.append(item.raw()) += ' ';
    EXPECT_EQ(expected_items, actual_items) << where;
    return;
  }
  const auto expected_number = expected.number();
  const auto actual_number = actual.number();
  const bool same = expected_number && actual_number
                        ? std::abs(*expected_number - *actual_number) < 1e-4
                        : expected.raw() == actual.raw();
  EXPECT_TRUE(same) << where << ": expected " << expected.raw() << ", found " << actual.raw();
}

std::string name_of(const Evaluation& evaluation) {
  return evaluation.decision() == nullptr ? "" : evaluation.decision()->name;
}

void run_case(const json::Value& row) {
  auto loaded = config::parse(configuration(row), "case.yaml");
  if (loaded && !row.find("foreign")) loaded->config.embedding_model.similarity_exponent = 1;
  const auto refused = row.find("refused");
  Result<std::unique_ptr<const Router>> router =
      loaded ? Router::create(std::move(loaded->config), models_of(row))
             : tl::unexpected<Error>(std::move(loaded).error());
  if (refused) {
    ASSERT_FALSE(router);
    EXPECT_NE(router.error().message.find(refused->text()), std::string::npos)
        << router.error().message;
    return;
  }
  ASSERT_TRUE(router) << router.error().message;
  const auto request = request_of(row);
  ASSERT_TRUE(request) << request.error().message;
  Evaluation evaluation = (*router)->evaluate(*request, headers_of(row));
  const auto done = evaluation.run_all();
  const auto failed = row.find("failed");
  if (failed) {
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find(failed->text()), std::string::npos) << done.error().message;
  } else {
    ASSERT_TRUE(done) << done.error().message;
  }
  const auto explained = json::Document::parse(evaluation.explain_json());
  ASSERT_TRUE(explained) << explained.error().message;
  if (const auto expected = row.find("expect"))
    compare(*expected, *explained->root().find("signals"), "signals");
  if (const auto words = row.find("words")) {
    const std::string explanation = evaluation.explain_words();
    EXPECT_NE(explanation.find(words->text()), std::string::npos) << explanation;
  }
  if (const auto decision = row.find("decision")) {
    EXPECT_EQ(name_of(evaluation), decision->text());
  }
  // Evaluating only the needed signals must give the same result.
  Evaluation lazy = (*router)->evaluate(*request, headers_of(row));
  if (!lazy.run_cheap()) static_cast<void>(lazy.run_needed());
  EXPECT_EQ(name_of(lazy), name_of(evaluation)) << "when only what is needed is computed";
}

TEST(Signals, match_the_listed_ones) {
  run_cases(kCases, run_case);
}

}  // namespace
}  // namespace signalbox::routing
