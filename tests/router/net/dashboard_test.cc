// Tests the dashboard's requests to the management listener over sockets. tests/dashboard tests the
// pages themselves in a browser.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/router/fake_classifier.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

std::string configuration(std::string_view management = "") {
  return fmt::format(R"(
version: v0.3
listeners: [{{name: http, address: 127.0.0.1, port: 0, timeout: 20s}}]
providers:
  defaults: {{default_model: general}}
  models:
    - {{name: general, backend_refs: [{{name: echo, type: echo}}]}}
    - {{name: expert, backend_refs: [{{name: echo, type: echo}}]}}
routing:
  signals:
    keywords: [{{name: proof, keywords: [theorem]}}, {{name: slang, keywords: [yo]}}]
    language: [{{name: en, threshold: 0.4}}]
  decisions:
    - name: maths
      priority: 10
      rules: {{type: keyword, name: proof}}
      modelRefs: [{{model: expert}}]
      plugins: [{{type: system_prompt, configuration: {{system_prompt: Prove it.}}}}]
    - {{name: english, priority: 5, rules: {{type: language, name: en}}, modelRefs: [{{model: general}}]}}
global: {{services: {{management_api: {{bind_address: 127.0.0.1, port: 0{}}}}}}}
)",
                     management);
}

std::string header(const Reply& reply, const std::string& name) {
  const auto found = reply.headers.find(name);
  return found == reply.headers.end() ? "" : found->second;
}

class Dashboard : public testing::Test {
 protected:
  explicit Dashboard(std::string_view management = "")
      : daemon_(started(configuration(management))) {}

  Reply send(const std::string& request) const {
    Wire client = Wire::connect(daemon_->port("management"));
    client.send(request);
    return client.read_reply();
  }
  Reply explain(std::string_view body) const { return send(post("/api/v1/explain", body)); }

  std::unique_ptr<daemon::Daemon> daemon_;
};

TEST_F(Dashboard, explains_through_the_pipeline_of_a_real_request) {
  const Reply reply =
      explain(R"({"request":{"model":"auto","messages":[{"role":"user","content":"a theorem"}]}})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(member(reply.body, "decision.name"), "maths");
  EXPECT_EQ(member(reply.body, "plan.path"), "upstream");
  EXPECT_EQ(member(reply.body, "plan.model"), "expert");
  EXPECT_EQ(member(reply.body, "request"),
            R"({"model":"auto","messages":[{"role":"user","content":"a theorem"}]})");
  EXPECT_NE(member(reply.body, "plan.body").find("Prove it."), std::string::npos);
  EXPECT_EQ(member(reply.body, "signals.keyword.proof.matched"), "true");
  // The keyword settles the decision.
  EXPECT_EQ(member(reply.body, "signals.language.en.matched"), "null");
  EXPECT_EQ(member(reply.body, "cost.signals.language"), "none");
  EXPECT_NE(member(reply.body, "cost.signals.keyword.ms"), "none");
}

TEST_F(Dashboard, computes_unneeded_signals_on_request) {
  const Reply reply = explain(R"({"text":"a theorem of the day","all":true})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_NE(member(reply.body, "signals.language.en.matched"), "null");
  EXPECT_EQ(member(reply.body, "signals.language.en.threshold"), "0.4");
}

TEST_F(Dashboard, marks_personal_data_by_code_points) {
  const Reply reply = explain(R"({"text":"Für ada@example.org"})");
  EXPECT_EQ(member(reply.body, "personal.0.type"), "EMAIL_ADDRESS");
  EXPECT_EQ(member(reply.body, "personal.0.start"), "4");
  EXPECT_EQ(member(reply.body, "personal.0.end"), "19");
}

/// Returns the explanation of "Ada, ada@example.org" with the model for personal data at
/// `directory`.
Reply explained_with(const std::string& directory, models::OpenModels open) {
  const auto with_model = [&](config::Config& config) {
    config.system_models.pii_classifier = directory;
  };
  const auto daemon = started(configuration(), with_model, std::move(open));
  Wire client = Wire::connect(daemon->port("management"));
  client.send(post("/api/v1/explain", R"({"text":"Ada, ada@example.org"})"));
  return client.read_reply();
}

TEST(DashboardModels, explanations_report_that_only_rules_searched_if_a_model_fails) {
  // In the folder of the project, the router's own model would stand in for the missing one.
  std::filesystem::current_path("/");
  const auto open_failing = [](const config::Config&) -> Result<models::Models> {
    models::Models models;
    models.classifiers = {
        {"broken", std::make_shared<const test::FakeClassifier>(std::vector<std::string>{"PERSON"},
                                                                engine::HeadKind::kTokens, true)}};
    return models;
  };
  const Reply failing = explained_with("broken", open_failing);
  ASSERT_EQ(failing.status, 200) << failing.body;
  EXPECT_NE(member(failing.body, "personal_failed").find("the model is gone"), std::string::npos)
      << failing.body;
  EXPECT_EQ(member(failing.body, "personal.0.type"), "EMAIL_ADDRESS");
  const Reply missing = explained_with("/nowhere/pii", no_models);
  ASSERT_EQ(missing.status, 200) << missing.body;
  EXPECT_NE(member(missing.body, "personal_failed").find("pii_classifier"), std::string::npos)
      << missing.body;
  EXPECT_EQ(missing.body.find("/nowhere/pii"), std::string::npos) << missing.body;
  EXPECT_EQ(member(missing.body, "personal_failed").find("Ada"), std::string::npos);
  const Reply none = explained_with("", no_models);
  EXPECT_EQ(member(none.body, "personal_failed"), "none") << "nothing was to look";
  EXPECT_EQ(member(none.body, "personal.0.type"), "EMAIL_ADDRESS");
}

TEST(DashboardModels, explanations_name_models_that_may_not_see_a_request_with_the_reason) {
  const auto restrict = [](config::Config& config) {
    config.providers.models.back().pii_policy.emplace();
    config.providers.models.back().pii_policy->allow_by_default = false;
  };
  const auto daemon = started(configuration(), restrict);
  Wire client = Wire::connect(daemon->port("management"));
  client.send(post("/api/v1/explain", R"({"text":"a theorem"})"));
  const Reply reply = client.read_reply();
  EXPECT_EQ(member(reply.body, "plan.left_out.0.model"), "expert") << reply.body;
  EXPECT_EQ(member(reply.body, "plan.left_out.0.reason"),
            "it has a pii_policy, and the search for personal data failed");
}

TEST_F(Dashboard, refuses_invalid_requests) {
  EXPECT_EQ(explain("{}").status, 400);
  EXPECT_EQ(explain(R"({"request":7})").status, 400);
  EXPECT_EQ(explain(R"({"request":{"model":"auto"}})").status, 400);
  EXPECT_EQ(explain(R"({"text":"a","recipe":"nobody's"})").status, 400);
  EXPECT_EQ(send(get("/api/v1/traffic?from=x")).status, 400);
}

TEST_F(Dashboard, serves_only_its_own_files) {
  const Reply page = send(get("/"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(header(page, "content-type"), "text/html; charset=utf-8");
  EXPECT_NE(header(page, "content-security-policy").find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(send(get("/nowhere")).status, 404);
  EXPECT_EQ(send(post("/", "{}")).status, 405);
}

TEST_F(Dashboard, sends_a_chat_to_the_model) {
  const Reply reply = send(post(
      "/api/v1/chat", R"({"model":"auto","messages":[{"role":"user","content":"a theorem"}]})"));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(header(reply, "x-vsr-selected-model"), "expert");
}

TEST_F(Dashboard, lists_the_rights_of_everybody_on_this_machine) {
  const Reply reply = send(get("/api/v1/access"));
  EXPECT_EQ(member(reply.body, "asks_for_token"), "false");
  EXPECT_EQ(member(reply.body, "changes_need_token"), "true");
  EXPECT_NE(reply.body.find("\"chat.invoke\""), std::string::npos);
  EXPECT_EQ(reply.body.find("\"secret_view\""), std::string::npos);
}

TEST_F(Dashboard, lists_the_servers_of_each_model) {
  send(post("/api/v1/chat",
            R"({"model":"auto","messages":[{"role":"user","content":"a theorem"}]})"));
  const Reply reply = send(get("/api/v1/servers"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(member(reply.body, "models.0.model"), "expert");
  EXPECT_EQ(member(reply.body, "models.0.queued"), "0");
  EXPECT_EQ(member(reply.body, "models.0.servers.0.name"), "echo");
  EXPECT_EQ(member(reply.body, "models.0.servers.0.fit"), "true");
  EXPECT_EQ(member(reply.body, "models.0.servers.0.answered"), "1");
  EXPECT_EQ(member(reply.body, "models.1.servers.0.answered"), "0");
}

TEST_F(Dashboard, names_the_missing_setting_for_budgets_and_audit_log) {
  const Reply budgets = send(get("/api/v1/budgets"));
  EXPECT_EQ(budgets.status, 404);
  EXPECT_NE(budgets.body.find("global.spending"), std::string::npos) << budgets.body;
  const Reply log = send(get("/api/v1/audit"));
  EXPECT_EQ(log.status, 404);
  EXPECT_NE(log.body.find("global.services.audit.file"), std::string::npos) << log.body;
  EXPECT_EQ(send(get("/api/v1/audit?limit=x")).status, 400);
}

class GuardedDashboard : public Dashboard {
 protected:
  GuardedDashboard() : Dashboard(with_tokens()) {}

  static std::string with_tokens() {
    ::setenv("DASHBOARD_TEST_VIEWER", "v", 1);
    ::setenv("DASHBOARD_TEST_OPERATOR", "o", 1);
    return ", auth: {mode: bearer, tokens: [{env: DASHBOARD_TEST_VIEWER, role: viewer}, {env: "
           "DASHBOARD_TEST_OPERATOR, role: operator}]}";
  }
  Reply as(std::string_view token, std::string request) const {
    const size_t line = request.find("\r\n") + 2;
    request.insert(line, fmt::format("Authorization: Bearer {}\r\n", token));
    return send(request);
  }
};

TEST_F(GuardedDashboard, lets_roles_do_only_permitted_actions) {
  const std::string chat =
      post("/api/v1/chat", R"({"model":"auto","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(send(get("/")).status, 200);
  EXPECT_EQ(send(get("/api/v1/access")).status, 401);
  EXPECT_EQ(send(chat).status, 401);
  EXPECT_EQ(as("x", get("/api/v1/access")).status, 401);
  EXPECT_EQ(as("v", chat).status, 403);
  EXPECT_EQ(as("o", chat).status, 200);
  const Reply viewer = as("v", get("/api/v1/access"));
  EXPECT_EQ(viewer.status, 200);
  EXPECT_EQ(viewer.body.find("chat.invoke"), std::string::npos);
  EXPECT_EQ(viewer.body.find("config.write"), std::string::npos);
  EXPECT_NE(viewer.body.find("replay.read"), std::string::npos);
  EXPECT_EQ(as("v", get("/api/v1/servers")).status, 200);
  EXPECT_EQ(as("v", get("/api/v1/audit")).status, 403);
  EXPECT_EQ(as("o", get("/api/v1/audit")).status, 404);
  EXPECT_NE(as("o", get("/api/v1/access")).body.find("chat.invoke"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::test
