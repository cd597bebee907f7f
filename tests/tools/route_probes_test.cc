// Tests our own probe files, whose outcome is known, and those of other routers' recipes if they
// are available.

#include "tools/route_probes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "router/config/load.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

const fs::path kOwn = fs::path(SIGNALBOX_SOURCE_DIR) / "tests/tools/probes";
const fs::path kShared = fs::path(SIGNALBOX_SOURCE_DIR) / "../shared/conformance";

ProbeReport run(const fs::path& config, const fs::path& probes) {
  auto loaded = config::load(config);
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  const std::string model = loaded->config.auto_model_names.front();
  const auto router = routing::Router::create(std::move(loaded->config), {});
  const auto all = load_probes(probes, model);
  EXPECT_TRUE(router) << router.error().message;
  EXPECT_TRUE(all) << all.error().message;
  if (!router || !all) return {};
  auto report = run_probes(**router, *all);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *std::move(report) : ProbeReport{};
}

TEST(RouteProbes, count_passes_and_explain_failures) {
  const ProbeReport report = run(kOwn / "config.yaml", kOwn / "probes.yaml");
  EXPECT_EQ(report.variants.total, 7U);
  EXPECT_EQ(report.variants.passed, 3U);
  const auto rate = [&](const char* kind, const char* row) {
    const Rate found = report.rates.at(kind).at(row);
    return fmt::format("{}/{}", found.passed, found.total);
  };
  EXPECT_EQ(rate("decision", "urgent"), "2/4");
  EXPECT_EQ(rate("decision", "plain"), "1/2");
  EXPECT_EQ(rate("algorithm", "static"), "4/4");
  EXPECT_EQ(rate("plugin", "system_prompt"), "2/4");
  EXPECT_EQ(rate("model", "big"), "2/4");
  EXPECT_EQ(rate("signal", "keyword:urgent"), "1/2");
  EXPECT_EQ(rate("projection", "pressed"), "1/2");
  EXPECT_EQ(rate("tag", "language:en"), "1/2");
  ASSERT_EQ(report.failures.size(), 4U);
  EXPECT_EQ(report.failures[0].id, "urgent/too_calm");
  EXPECT_EQ(report.failures[0].checks,
            (std::vector<std::string>{"decision: expected urgent, found plain",
                                      "model: expected big, found small",
                                      "plugin: expected system_prompt, found none",
                                      "keyword urgent: expected a match, found none",
                                      "projection pressed: expected a match, found none"}));
  EXPECT_EQ(report.failures[0].causes,
            (std::vector<std::string>{"keyword urgent does not match",
                                      "projection pressed does not match"}));
  EXPECT_EQ(report.failures[1].causes, (std::vector<std::string>{"conversation tools matches"}));
  EXPECT_EQ(report.failures[2].causes,
            (std::vector<std::string>{"it matches, but another decision comes first"}));
  EXPECT_EQ(report.failures[3].causes,
            (std::vector<std::string>{"jailbreak attempt is unknown: there is no model at "
                                      "models/mmbert32k-jailbreak-detector-merged; fetch it with "
                                      "`signalbox models pull hf:llm-semantic-router/"
                                      "mmbert32k-jailbreak-detector-merged`"}));
  EXPECT_EQ(report.lacking.size(), 1U);
  EXPECT_EQ(report.lacking.begin()->second, 1U);
  const auto json = json::Document::parse(probe_report_json(report));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->root().find("variants")->raw(), R"({"passed":3,"total":7})");
  EXPECT_NE(probe_report_text(report).find("3 of 7 variants pass\n"), std::string::npos);
}

TEST(RouteProbes, use_the_recipe_that_they_name) {
  const ProbeReport report = run(kOwn / "config.yaml", kOwn / "recipes.yaml");
  EXPECT_EQ(report.variants.total, 4U);
  EXPECT_EQ(report.variants.passed, 4U) << probe_report_text(report);
}

TEST(RouteProbes, use_the_recipe_that_their_model_selects) {
  const ProbeReport report = run(kOwn / "config.yaml", kOwn / "models.yaml");
  EXPECT_EQ(report.variants.passed, 3U) << probe_report_text(report);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures[0].checks,
            (std::vector<std::string>{"decision: expected urgent, found none"}));
}

TEST(RouteProbes, refuse_an_unknown_recipe) {
  auto loaded = config::load(kOwn / "config.yaml");
  ASSERT_TRUE(loaded);
  const auto router = routing::Router::create(std::move(loaded->config), {});
  ASSERT_TRUE(router);
  Probe probe;
  probe.id = "a/b";
  probe.recipe = "shorts";
  probe.request = R"({"model":"auto","messages":[]})";
  const auto report = run_probes(**router, {probe});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "a/b: unknown recipe \"shorts\" (known: default, short)");
}

TEST(RouteProbes, report_the_mistake_in_a_file) {
  const fs::path path = fs::temp_directory_path() / "signalbox_route_probes.yaml";
  const auto message = [&](std::string_view text) {
    std::ofstream(path) << text;
    const auto probes = load_probes(path, "auto");
    fs::remove(path);
    return probes ? "" : probes.error().message.substr(path.string().size() + 2);
  };
  EXPECT_EQ(message(""), "expected a mapping with decisions");
  EXPECT_EQ(message("[]"), "expected a mapping with decisions");
  EXPECT_EQ(message("{x: 1}"), "decisions: expected a list");
  EXPECT_EQ(message("decisions: []"), "there are no probes");
  EXPECT_EQ(message("decisions: [{id: a, variants: []}]"), "there are no probes");
  EXPECT_EQ(message("{recipe: [x], decisions: []}"), "$.recipe: expected a string");
  EXPECT_EQ(message("decisions: [{}]"), "decisions[0].id: missing");
  EXPECT_EQ(message("decisions: [{id: a}]"), "decisions[0].variants: missing");
  EXPECT_EQ(message("decisions: [{id: a, variants: [{id: b, query: x}]}]"),
            "decisions[0].variants[0].expected_decision: missing");
  EXPECT_EQ(message("decisions: [{id: a, expected_decision: a, variants: [{id: b}]}]"),
            "decisions[0].variants[0].query: missing");
  EXPECT_EQ(message("decisions: [{id: a, expected_decision: a, variants: [{id: b, query: x, "
                    "repeat: 1000001}]}]"),
            "decisions[0].variants[0].repeat: expected 1 to 100000 and a text within 64 MiB, found "
            "1000001");
  EXPECT_EQ(message("decisions: [{id: a, expected_plugins: x, variants: []}]"),
            "decisions[0].expected_plugins: expected a list");
}

TEST(RouteProbes, the_accuracy_recipe_passes_completely) {
  if (!fs::exists(kShared)) GTEST_SKIP() << "no material beside the repository";
  const ProbeReport report =
      run(kShared / "accuracy/config.yaml", kShared / "accuracy/probes.yaml");
  EXPECT_EQ(report.variants.total, 13U);
  EXPECT_EQ(report.variants.passed, 13U) << probe_report_text(report);
}

// With the router's own models, which stand in for those that the recipes name.
TEST(RouteProbes, recipes_decide_as_their_probes_expect) {
  const fs::path root = SIGNALBOX_SOURCE_DIR;
  for (const char* model : {"models/minilm", "models/signals", "models/attacks"}) {
    if (!fs::exists(root / model)) GTEST_SKIP() << model << " is not pulled";
  }
  if (!fs::exists(kShared)) GTEST_SKIP() << kShared << " does not exist";
  for (const char* recipe : {"accuracy", "balance", "privacy"}) {
    auto loaded = config::load(kShared / recipe / "config.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    config::Config& config = loaded->config;
    config::SystemModels& system = config.system_models;
    for (std::string* directory :
         {&config.embedding_model.path, &system.domain_classifier, &system.prompt_guard,
          &system.pii_classifier, &system.fact_check_classifier, &system.feedback_detector})
      *directory = (root / *directory).string();
    auto models = models::open_models(config, {}, models::open_directly(config.http));
    ASSERT_TRUE(models) << models.error().message;
    const auto probes =
        load_probes(kShared / recipe / "probes.yaml", config.auto_model_names.front());
    ASSERT_TRUE(probes) << probes.error().message;
    const auto router = routing::Router::create(std::move(config), *std::move(models));
    ASSERT_TRUE(router) << router.error().message;
    const auto report = run_probes(**router, *probes);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->failures.empty()) << recipe << ": " << probe_report_text(*report);
  }
}

}  // namespace
}  // namespace signalbox::tools
