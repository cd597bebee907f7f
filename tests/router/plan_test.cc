// Tests plans from data: every line of plans/*.jsonl is a configuration_of, a request and the
// expected plan.
//
//   {"name": ..., "models": [...]?, "families": {...}?, "routing": {...}?, "global": {...}?,
//    "classifiers": {DIRECTORY: {"labels": [...], "tokens": true?, "fails": true?}}?,
//    "request": {...} or "text": ..., "headers": {...}?, "draw": 0 to 1?,
//    "failed": [MODEL, ...]?,
//    "figures": {MODEL: {"ttft_ms": [...], "tpot_ms": [...], "in_flight": n}}?,
//    "invalid": part of the message if no router can be created?, "body": exact JSON text?,
//    "answer": ...?, "refused": ...?, "error": part of the message?, "plan": {member: value}?,
//    "response": {HEADER: value or null}?, "notice": part of one?,
//    "words": the plan as text for people?}
//
// The default for "models" is one model, "m". A model's family is one of "families". "DATA" stands
// for a directory of test files.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/decision_headers.h"
#include "router/routing/router.h"
#include "tests/router/data_case.h"

namespace signalbox::routing {
namespace {

namespace fs = std::filesystem;

const fs::path kPlans = fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/plans";

std::string raw_of(const json::Value& row, std::string_view key, std::string_view fallback) {
  return member_text(row, key, fallback, kPlans);
}

std::string configuration_of(const json::Value& row) {
  const auto models = row.find("models");
  std::string first = "m";
  if (models) first = (*models->items().begin()).find("name")->text();
  return fmt::format(
      R"({{"version": "v0.3", "providers": {{"defaults": {{"default_model": "{}",
"reasoning_families": {}}}, "models": {}}}, "global": {}, "routing": {}}})",
      first,
      raw_of(row, "families",
             R"({"kwargs": {"type": "chat_template_kwargs", "parameter": "thinking"},
              "effort": {"type": "reasoning_effort", "parameter": "reasoning_effort"}})"),
      raw_of(row, "models", R"([{"name": "m", "backend_refs": [{"type": "echo"}]}])"),
      raw_of(row, "global", "{}"), raw_of(row, "routing", "{}"));
}

std::string plan_json(const Plan& plan) {
  json::Writer out;
  out.begin_object().member("bypassed", plan.bypassed).member("decision", plan.decision);
  out.key("model");
  plan.model != nullptr ? out.string(plan.model->name) : out.null();
  out.key("reasoning");
  plan.reasoning ? out.boolean(*plan.reasoning) : out.null();
  out.member("reasoning_effort", plan.reasoning_effort).member("algorithm", plan.algorithm);
  out.member("selection_method", plan.selection_method);
  out.member("grounding", plan.grounding != nullptr).member("needs_facts", plan.needs_facts);
  out.member("looks_for_attempts", plan.jailbreak != nullptr);
  out.member("caches", plan.response_cache != nullptr).member("too_long", plan.too_long);
  return out.member("selection_reason", plan.selection_reason).end_object().take();
}

// Compares the expected members with the actual ones, and reports the differences.
void compare_plans(const json::Value& expected, const json::Value& actual) {
  for (const json::Member& each : expected.members()) {
    const auto found = actual.find(each.key);
    EXPECT_EQ(each.value.raw(), found ? found->raw() : "null") << each.key;
  }
}

void check_headers(const json::Value& expected, const Plan& plan) {
  json::Writer out;
  out.begin_object();
  for (const Header& header : response_headers(plan, false)) out.member(header.name, header.value);
  const std::string text = out.end_object().take();
  compare_plans(expected, json::Document::parse(text)->root());
}

void check(const json::Value& row, const Plan& plan) {
  const auto text_of = [&](std::string_view key) {
    const auto found = row.find(key);
    return found ? std::string(found->text()) : std::string();
  };
  if (row.find("body")) {
    EXPECT_EQ(plan.path, Plan::Path::kUpstream);
    EXPECT_EQ(plan.body, text_of("body"));
  }
  if (plan.path == Plan::Path::kUpstream) {
    EXPECT_TRUE(json::Document::parse(plan.body)) << plan.body;
    EXPECT_NE(plan.model, nullptr);
  }
  EXPECT_EQ(plan.path == Plan::Path::kFastResponse ? plan.message : "", text_of("answer"));
  const bool is_refused = plan.path == Plan::Path::kBlocked || plan.path == Plan::Path::kUnable;
  EXPECT_EQ(is_refused ? plan.message : "", text_of("refused"));
  if (const auto expected = row.find("plan"))
    compare_plans(*expected, json::Document::parse(plan_json(plan))->root());
  if (const auto expected = row.find("response")) check_headers(*expected, plan);
  if (row.find("words")) {
    EXPECT_EQ(plan_words(plan), text_of("words"));
  }
}

std::vector<double> numbers_of(const json::Value& row, std::string_view key) {
  std::vector<double> out;
  const auto list = row.find(key);
  if (!list) return out;
  for (const json::Value& each : list->items()) out.push_back(*each.number());
  return out;
}

RuntimeConditions runtime_conditions(const json::Value& row) {
  RuntimeConditions out;
  if (const auto draw = row.find("draw")) out.draw = *draw->number();
  out.cheapest = row.find("cheapest").has_value();
  const auto figures = row.find("figures");
  if (!figures) return out;
  out.figures = [all = *figures](std::string_view model) {
    selection::Figures of;
    const auto found = all.find(model);
    if (!found) return of;
    of.ttft_ms = numbers_of(*found, "ttft_ms");
    of.tpot_ms = numbers_of(*found, "tpot_ms");
    if (const auto in_flight = found->find("in_flight"))
      of.in_flight = static_cast<uint32_t>(*in_flight->integer());
    return of;
  };
  return out;
}

/// "caller" has called the tools whose results the request brings. With a "seed" the request begins
/// a conversation.
std::optional<learning::Situation> situation_of(const json::Value& row,
                                                const learning::Memory& memory) {
  const auto caller = row.find("caller");
  if (!caller && !row.find("seed")) return std::nullopt;
  const auto text = [&](std::string_view key) { return std::string(caller->find(key)->text()); };
  learning::Situation out;
  out.key = "k";
  out.outcomes = &memory.outcomes;
  if (!caller) return out;
  out.past =
      learning::Conversation{{text("model"), text("asked_for"), text("decision")}, 1, 0, out.now};
  out.in_tool_loop = true;
  return out;
}

void run_plan(const json::Value& row) {
  auto loaded = config::parse(configuration_of(row), "case.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  loaded->config.embedding_model.similarity_exponent = 1;
  const auto router = Router::create(std::move(loaded->config), models_of(row));
  if (const auto invalid = row.find("invalid")) {
    ASSERT_FALSE(router);
    EXPECT_NE(router.error().message.find(invalid->text()), std::string::npos)
        << router.error().message;
    return;
  }
  ASSERT_TRUE(router) << router.error().message;
  if (const auto notice = row.find("notice")) {
    std::string all;
    for (const std::string& each : (*router)->notices()) all += each + "\n";
    EXPECT_NE(all.find(notice->text()), std::string::npos) << all;
  }
  const auto request = request_of(row);
  ASSERT_TRUE(request) << request.error().message;
  Evaluation evaluation = (*router)->evaluate(*request, headers_of(row));
  if (!evaluation.run_cheap()) static_cast<void>(evaluation.run_needed());
  std::vector<std::string_view> failed;
  if (const auto models = row.find("failed")) {
    for (const json::Value& each : models->items()) failed.push_back(each.text());
  }
  RuntimeConditions circumstances = runtime_conditions(row);
  circumstances.failed = failed;
  learning::Memory memory;
  const std::optional<learning::Situation> situation = situation_of(row, memory);
  if (situation) circumstances.learning = &*situation;
  if (const auto seed = row.find("seed"))
    circumstances.seed = static_cast<uint32_t>(*seed->integer());
  const auto plan = evaluation.plan(circumstances);
  if (const auto error = row.find("error")) {
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find(error->text()), std::string::npos) << plan.error().message;
    return;
  }
  ASSERT_TRUE(plan) << plan.error().message;
  check(row, *plan);
}

TEST(Plans, match_the_listed_ones) {
  run_cases(kPlans, run_plan);
}

}  // namespace
}  // namespace signalbox::routing
