// Tests edits of a body: every case of splices.yaml through the whole router, and the editor alone.

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/yaml.h"
#include "router/config/load.h"
#include "router/routing/router.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::splice {
namespace {

// Decisions are named after the word that selects them.
std::unique_ptr<const routing::Router> make_router() {
  std::string text = R"(version: v0.3
providers:
  defaults:
    default_model: plain
    reasoning_families:
      template: {type: chat_template_kwargs, parameter: thinking}
      effort: {type: reasoning_effort, parameter: reasoning_effort}
      top: {type: top_level_reasoning_effort, parameter: reasoning_effort}
  models:
    - {name: plain, backend_refs: [{type: echo}]}
    - {name: think, provider_model_id: org/think, reasoning_family: template, backend_refs: [{type: echo}]}
    - {name: effort, reasoning_family: effort, backend_refs: [{type: echo}]}
    - {name: top, reasoning_family: top, backend_refs: [{type: echo}]}
    - {name: dialect, reasoning_family: effort, backend_refs: [{base_url: "https://api.openai.com/v1"}]}
routing:
  signals:
    keywords:
)";
  const auto words = {"on",    "off",     "effort", "calm",    "top",
                      "slack", "dialect", "mute",   "replace", "insert"};
  for (const char* word : words)
    text += fmt::format("      - {{name: {0}, keywords: [\"{0}\"]}}\n", word);
  text += "  decisions:\n";
  const auto decide = [&](std::string_view word, std::string_view model, std::string_view rest) {
    text += fmt::format(
        "    - {{name: d-{0}, rules: {{type: keyword, name: {0}}}, modelRefs: [{{model: "
        "{1}{2}}}]{3}}}\n",
        word, model, rest.starts_with(", use") ? rest : "",
        rest.starts_with(", plugins") ? rest : "");
  };
  const std::string on = ", use_reasoning: true, reasoning_effort: high";
  const std::string off = ", use_reasoning: false";
  decide("on", "think", on);
  decide("off", "think", off);
  decide("effort", "effort", on);
  decide("calm", "effort", off);
  decide("top", "top", on);
  decide("slack", "top", off);
  decide("dialect", "dialect", on);
  decide("mute", "dialect", off);
  for (const char* mode : {"replace", "insert"}) {
    decide(mode, "plain",
           fmt::format(", plugins: [{{type: system_prompt, configuration: {{mode: {}, "
                       "system_prompt: 'Say \"hi\" \xC3\xA9'}}}}]",
                       mode));
  }
  auto loaded = config::parse(text, "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message << text;
  auto router = routing::Router::create(std::move(loaded->config), {});
  EXPECT_TRUE(router) << router.error().message;
  return *std::move(router);
}

TEST(Plugins, splice_bodies_as_expected) {
  const auto router = make_router();
  const auto cases =
      yaml::load(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/plugins/splices.yaml");
  ASSERT_TRUE(cases) << cases.error().message;
  for (const yaml::Node& each : cases->items) {
    const std::string& name = each.find("name")->scalar;
    const auto request = request::ChatRequest::parse(each.find("before")->scalar);
    ASSERT_TRUE(request) << name << ": " << request.error().message;
    routing::Evaluation evaluation = router->evaluate(*request);
    EXPECT_TRUE(evaluation.run_cheap()) << name;
    const auto plan = evaluation.plan();
    ASSERT_TRUE(plan) << name << ": " << plan.error().message;
    EXPECT_EQ(plan->body, each.find("after")->scalar) << name;
    EXPECT_TRUE(json::Document::parse(plan->body)) << name;
  }
}

TEST(Edit, applies_in_order_of_position) {
  EXPECT_EQ(apply("abcdef", {{4, 5, "E"}, {0, 0, "<"}, {1, 3, ""}, {6, 6, ">"}, {6, 6, "!"}}),
            "<adEf>!");
  EXPECT_EQ(apply("", {}), "");
}

// A list of the members would be many times as large as the object.
TEST(ObjectEditor, makes_few_edits_for_many_members) {
  std::string source = "{\"kept\":0";
  for (int i = 0; i < 10'000; ++i) source += ",\"a\":1";
  const auto document = json::Document::parse(source + ",\"last\":2}");
  ASSERT_TRUE(document) << document.error().message;
  ObjectEditor editor(document->root());
  editor.remove("a");
  editor.set("new", "3");
  std::vector<Edit> edits;
  editor.finish(edits);
  EXPECT_EQ(edits.size(), 2U);
  EXPECT_EQ(splice::apply(document->source(), std::move(edits)), R"({"kept":0,"last":2,"new":3})");
}

TEST(ObjectEditor, the_last_change_of_a_name_applies) {
  const auto document = json::Document::parse(R"({"a":1,"b":2})");
  ASSERT_TRUE(document);
  ObjectEditor editor(document->root());
  editor.set("a", "3");
  editor.remove("a");
  editor.set("c", "4");
  editor.remove("b");
  editor.set("b", "5");
  editor.set("d", "6");
  editor.remove("c");
  editor.set("c", "7");
  EXPECT_FALSE(editor.is_set("a"));
  EXPECT_TRUE(editor.is_set("b"));
  EXPECT_TRUE(editor.values("b").empty());
  std::vector<Edit> edits;
  editor.finish(edits);
  EXPECT_EQ(splice::apply(document->source(), std::move(edits)), R"({"b":5,"d":6,"c":7})");
}

// For any set and removed members, the result must be the object with only these changes.
TEST(ObjectEditor, agrees_with_a_rebuilt_object_on_random_input) {
  std::mt19937 random(11);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const auto space = [&] { return std::string(below(3), " \n\t"[below(3)]); };
  for (int round = 0; round < 20'000; ++round) {
    std::string source = fmt::format("{{{}", space());
    std::vector<std::pair<std::string, std::string>> members;
    for (uint32_t n = below(6), i = 0; i < n; ++i) {
      members.emplace_back(std::string(1, static_cast<char>('a' + below(3))),
                           fmt::format("[{},\"}}{{\"]", below(9)));
      source += fmt::format("{}\"{}\"{}:{}{}{}", i == 0 ? "" : fmt::format(",{}", space()),
                            members[i].first, space(), space(), members[i].second, space());
    }
    source += "}";
    const auto document = json::Document::parse(source);
    ASSERT_TRUE(document) << source;
    ObjectEditor editor(document->root());
    const bool removes = below(2) == 0;
    const bool sets = below(2) == 0;
    const bool adds = below(2) == 0;
    if (removes) editor.remove("a");
    if (sets) editor.set("b", "7");
    if (adds) editor.set("new", "8");
    std::vector<std::pair<std::string, std::string>> expected;
    bool has_b = false;
    for (const auto& [key, value] : members) {
      has_b |= key == "b";
      if (!(removes && key == "a")) expected.emplace_back(key, sets && key == "b" ? "7" : value);
    }
    if (sets && !has_b) expected.emplace_back("b", "7");
    if (adds) expected.emplace_back("new", "8");

    std::vector<Edit> edits;
    editor.finish(edits);
    const std::string result = splice::apply(source, std::move(edits));
    const auto edited = json::Document::parse(result);
    ASSERT_TRUE(edited) << source << " -> " << result << ": " << edited.error().message;
    std::vector<std::pair<std::string, std::string>> actual;
    for (const json::Member& member : edited->root().members())
      actual.emplace_back(member.key, member.value.raw());
    ASSERT_EQ(actual, expected) << source << " -> " << result;
  }
}

}  // namespace
}  // namespace signalbox::splice
