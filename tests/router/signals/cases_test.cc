// Signals as data: every line of cases/*.jsonl is a routing, a request and what the explanation
// then says.
//
//   {"name": ..., "signals": {...}, "projections": {...}?, "decisions": [...]?, "catalog": {...}?,
//    "text": ... or "request": {...}, "headers": {...}?, "no_embedder": true?,
//    "classifiers": {DIRECTORY: {"labels": [...], "tokens": true?, "fails": true?}}?,
//    "expect": {TYPE: {NAME: {member: value}}}?, "decision": ...?, "refused": ...?, "failed": ...?}
//
// Numbers may differ by 1e-4. A directory of test files is written "DATA".

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/router.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::router {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/signals/cases";

std::string raw(const json::Value& row, std::string_view key, std::string_view fallback) {
  const auto found = row.find(key);
  std::string out(found ? found->raw() : fallback);
  constexpr std::string_view kData = "\"DATA";
  for (size_t at = out.find(kData); at != std::string::npos; at = out.find(kData, at + 1))
    out.replace(at + 1, kData.size() - 1, kCases.string());
  return out;
}

std::string configuration(const json::Value& row) {
  return fmt::format(R"({{"version": "v0.3",
"providers": {{"defaults": {{"default_model": "m"}}, "models": [{{"name": "m", "backend_refs": [{{"type": "echo"}}]}}]}},
"global": {{"model_catalog": {}}},
"routing": {{"signals": {}, "projections": {}, "decisions": {}}}}})",
                     raw(row, "catalog", "{}"), raw(row, "signals", "{}"),
                     raw(row, "projections", "{}"), raw(row, "decisions", "[]"));
}

Models models(const json::Value& row) {
  Models out;
  if (!row.find("no_embedder")) out.embedder = std::make_unique<FakeEmbedder>();
  const auto classifiers = row.find("classifiers");
  if (!classifiers) return out;
  for (const json::Member& each : classifiers->members()) {
    std::vector<std::string> labels;
    for (const json::Value& label : each.value.find("labels")->items())
      labels.emplace_back(label.text());
    const auto kind =
        each.value.find("tokens") ? engine::HeadKind::kTokens : engine::HeadKind::kSequence;
    const bool fails = each.value.find("fails").has_value();
    out.classifiers.emplace(each.key, std::make_unique<FakeClassifier>(labels, kind, fails));
  }
  return out;
}

Result<ChatRequest> request_of(const json::Value& row) {
  if (const auto request = row.find("request"))
    return ChatRequest::parse(std::string(request->raw()));
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  const auto text = row.find("text");
  out.begin_object().member("role", "user").member("content", text ? text->text() : "");
  return ChatRequest::parse(out.end_object().end_array().end_object().take());
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

void run(const json::Value& row) {
  auto loaded = config::parse(configuration(row), "case.yaml");
  const auto refused = row.find("refused");
  Result<std::unique_ptr<const Router>> router =
      loaded ? Router::create(std::move(loaded->config), models(row))
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
  const auto headers = row.find("headers");
  const HeaderLookup lookup = [&](std::string_view name) -> std::optional<std::string_view> {
    const auto found = headers ? headers->find(name) : std::nullopt;
    if (!found) return std::nullopt;
    return found->text();
  };
  Evaluation evaluation = (*router)->evaluate(*request, lookup);
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
  if (const auto decision = row.find("decision")) {
    EXPECT_EQ(name_of(evaluation), decision->text());
  }
  // What only the needed signals say must come to the same.
  Evaluation lazy = (*router)->evaluate(*request, lookup);
  if (!lazy.run_cheap()) static_cast<void>(lazy.run_needed());
  EXPECT_EQ(name_of(lazy), name_of(evaluation)) << "when only what is needed is computed";
}

TEST(Signals, read_requests_as_the_cases_say) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    std::ifstream file(entry.path());
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty()) continue;
      const auto row = json::Document::parse(line);
      const std::string where = fmt::format("{}:{}", entry.path().filename().string(), number);
      ASSERT_TRUE(row) << where << ": " << row.error().message;
      const auto name = row->root().find("name");
      ASSERT_TRUE(name) << where;
      SCOPED_TRACE(fmt::format("{}: {}", where, name->text()));
      run(row->root());
    }
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace signalbox::router
