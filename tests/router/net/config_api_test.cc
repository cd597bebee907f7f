// Tests the configuration through the management API, as operators and their tools use it.

#include <gtest/gtest.h>

#include <future>
#include <set>

#include "router/access/local_token.h"
#include "router/config/document.h"
#include "tests/router/net/file_daemon.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
using daemon::Daemon;

constexpr std::string_view kOnDisk = R"(# kept as long as nobody patches
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
routing:
  signals:
    keywords:
      - {name: word, operator: OR, keywords: [word, "8"]}
  decisions:
    - name: one
      priority: 10
      rules: {operator: OR, conditions: [{type: keyword, name: word}]}
      modelRefs: [{model: general}]
global:
  services:
    response_api: {redis: {address: "redis:6379", password: hunter2}}
    management_api:
      bind_address: 127.0.0.1
      port: 0
)";

std::string request(std::string_view method, std::string_view path, std::string_view body = "",
                    std::string_view headers = "") {
  return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", method,
                     path, body.size(), headers, body);
}

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

class ConfigApi : public testing::Test {
 protected:
  void start(std::string_view text = kOnDisk) {
    file_ = folder_.write("config.yaml", text);
    daemon_ = follow(file_, no_models);
    ASSERT_NE(daemon_, nullptr);
  }
  fs::path token_file() const { return folder_.at(".signalbox/config.yaml.token"); }
  /// Sends a request with the local token, if there is one and the request has no other.
  Reply ask(std::string sent) const {
    const auto token = read_file(token_file(), 1 << 10);
    if (token && sent.find("uthorization:") == std::string::npos)
      sent.insert(sent.find("\r\n") + 2,
                  fmt::format("Authorization: Bearer {}\r\n", token->substr(0, token->find('\n'))));
    return ask_as_it_is(sent);
  }
  Reply ask_as_it_is(const std::string& sent) const {
    Wire client = Wire::connect(daemon_->port("management"));
    client.send(sent);
    return client.read_reply();
  }
  std::string on_disk() const { return read_file(file_, 1 << 20).value(); }
  std::string decision() const {
    Wire client = Wire::connect(daemon_->port("http"));
    client.send(post("/v1/chat/completions",
                     R"({"model":"auto","messages":[{"role":"user","content":"word"}]})"));
    const Reply reply = client.read_reply();
    const auto found = reply.headers.find("x-vsr-selected-decision");
    return found == reply.headers.end() ? "none" : found->second;
  }

  Folder folder_;
  fs::path file_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(ConfigApi, shows_the_file_without_its_secrets) {
  start();
  const Reply json = ask(get("/config/router"));
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(member(json.body, "routing.decisions.0.priority"), "10");
  EXPECT_EQ(member(json.body, "routing.signals.keywords.0.keywords.1"), "8");
  EXPECT_EQ(member(json.body, "global.services.response_api.redis.password"), config::kMasked);
  EXPECT_EQ(member(json.body, "global.services.response_api.redis.address"), "redis:6379");
  const std::string etag = json.headers.at("etag");
  EXPECT_EQ(etag.size(), 66U);

  const Reply yaml = ask(get("/config/router", "Accept: application/yaml\r\n"));
  EXPECT_NE(yaml.body.find("password: \"********\""), std::string::npos) << yaml.body;
  EXPECT_EQ(yaml.body.find("hunter2"), std::string::npos);
  EXPECT_EQ(ask(get("/config/router", "If-None-Match: " + etag + "\r\n")).status, 304);

  EXPECT_EQ(member(ask(get("/config/hash")).body, "activation_status"), "active");
  const Reply status = ask(get("/config/status"));
  EXPECT_EQ(member(status.body, "generation"), "1");
  EXPECT_EQ(member(status.body, "refused"), "null");
  EXPECT_NE(ask(get("/config/schema")).body.find("\"$schema\""), std::string::npos);
}

TEST_F(ConfigApi, counts_accepted_and_refused_changes) {
  start();
  const auto reloads = [this] {
    const std::string body = ask(get("/config/status")).body;
    return member(body, "reloads.succeeded") + " " + member(body, "reloads.failed");
  };
  EXPECT_EQ(reloads(), "0 0");
  EXPECT_EQ(member(ask(get("/config/status")).body, "reloads.last_success"), "null");
  EXPECT_EQ(ask(request("PUT", "/config/router", "version: v0.3\nlisteners: 7\n")).status, 400);
  EXPECT_EQ(reloads(), "0 1");
  const std::string next = changed(std::string(kOnDisk), "name: one", "name: two");
  EXPECT_EQ(ask(request("PUT", "/config/router", next)).status, 200);
  EXPECT_EQ(reloads(), "1 1");
  EXPECT_NE(member(ask(get("/config/status")).body, "reloads.last_success"), "null");
  folder_.write("config.yaml", "version: v0.3\nlisteners: 7\n");
  EXPECT_TRUE(eventually([&] { return reloads() == "1 2"; })) << reloads();
}

TEST_F(ConfigApi, replaces_the_file_and_the_serving_state) {
  start();
  const std::string next = changed(std::string(kOnDisk), "name: one", "name: two");
  const Reply put = ask(request("PUT", "/config/router", next));
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(member(put.body, "status"), "success");
  EXPECT_EQ(decision(), "two");
  EXPECT_EQ(on_disk(), next) << "its comments as well";
  EXPECT_EQ(ask(get("/config/router")).headers.at("etag"), put.headers.at("etag"));

  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(member(ask(get("/config/status")).body, "generation"), "2")
      << "its own write is not taken for somebody else's";

  const auto mode = [&](const char* name) { return fs::status(folder_.at(name)).permissions(); };
  EXPECT_EQ(mode(".signalbox/config-versions"), fs::perms::owner_all);
  for (const auto& copy : fs::directory_iterator(folder_.at(".signalbox/config-versions")))
    EXPECT_EQ(copy.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);

  const Reply versions = ask(get("/config/router/versions"));
  const std::string version = member(put.body, "version");
  EXPECT_EQ(member(versions.body, "0.version"), version);
  const Reply back = ask(
      request("POST", "/config/router/rollback", fmt::format(R"({{"version":"{}"}})", version)));
  EXPECT_EQ(back.status, 200) << back.body;
  EXPECT_EQ(decision(), "one");
  EXPECT_EQ(on_disk(), kOnDisk);
}

TEST_F(ConfigApi, accepts_its_own_output_and_keeps_the_masked_secrets) {
  start();
  const Reply json = ask(get("/config/router"));
  EXPECT_EQ(ask(request("PUT", "/config/router", json.body)).status, 200);
  EXPECT_NE(on_disk().find("password: hunter2"), std::string::npos) << on_disk();
  EXPECT_EQ(decision(), "one");
  const Reply yaml = ask(get("/config/router?format=yaml"));
  EXPECT_EQ(ask(request("PUT", "/config/router",
                        fmt::format(R"({{"yaml":"{}"}})", changed("version: v0.3\n", "\n", "\\n"))))
                .status,
            400);
  EXPECT_EQ(ask(request("PUT", "/config/router", yaml.body)).status, 200);
  EXPECT_NE(on_disk().find("password: hunter2"), std::string::npos);
  const Reply nothing =
      ask(request("PATCH", "/config/router",
                  R"({"global":{"stores":{"response_cache":{"redis":{"password":"********"}}}}})"));
  EXPECT_EQ(nothing.status, 400);
  EXPECT_NE(nothing.body.find("stores.response_cache.redis.password"), std::string::npos);
}

TEST_F(ConfigApi, merges_patches) {
  start();
  const Reply patched = ask(request(
      "PATCH", "/config/router",
      R"({"routing":{"decisions":[{"name":"two","rules":{"operator":"OR","conditions":[{"type":"keyword","name":"word"}]},"modelRefs":[{"model":"general"}]}]},"global":{"services":{"response_api":null}}})"));
  EXPECT_EQ(patched.status, 200) << patched.body;
  EXPECT_EQ(decision(), "two");
  EXPECT_EQ(on_disk().find("response_api"), std::string::npos);
  const Reply yaml = ask(request("PATCH", "/config/router", "routing:\n  strategy: confidence\n"));
  EXPECT_EQ(yaml.status, 200) << yaml.body;
  EXPECT_EQ(member(ask(get("/config/router")).body, "routing.strategy"), "confidence");
  EXPECT_EQ(ask(request("PATCH", "/config/router", "7")).status, 400);
}

TEST_F(ConfigApi, refuses_an_invalid_change_and_changes_nothing) {
  start();
  const Reply wrong = ask(
      request("PUT", "/config/router", changed(std::string(kOnDisk), "name: word}]", "name: w}]")));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(member(wrong.body, "error.code"), "CONFIG_VALIDATION_ERROR");
  const std::string message = member(wrong.body, "error.message");
  EXPECT_NE(message.find("config.yaml:16: routing.decisions[0].rules"), std::string::npos)
      << message;
  EXPECT_EQ(member(wrong.body, "error.timestamp").size(), 20U);
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xff"),
        std::string("{\"version\":\"v0.3\",\"version\":1}"), std::string(5000, '['),
        "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"}) {
    for (const char* method : {"PUT", "PATCH"}) {
      const Reply reply = ask(request(method, "/config/router", body));
      if (std::string_view(method) == "PATCH" && body.empty()) continue;
      EXPECT_TRUE(reply.status == 400 || reply.status == 413)
          << method << " " << body.substr(0, 40) << ": " << reply.status << " " << reply.body;
    }
  }
  EXPECT_EQ(on_disk(), kOnDisk);
  EXPECT_EQ(ask(get("/config/router/versions")).body, "[]");
  EXPECT_EQ(
      ask(request("POST", "/config/router/rollback", R"({"version":"../../config.yaml"})")).status,
      404);
  EXPECT_EQ(ask(request("POST", "/config/router/rollback", "7")).status, 400);
  EXPECT_EQ(member(ask(request("DELETE", "/config/router")).body, "error.code"),
            "METHOD_NOT_ALLOWED");
}

TEST_F(ConfigApi, refuses_a_change_of_an_outdated_version) {
  start();
  const std::string stale = ask(get("/config/router")).headers.at("etag");
  const std::string next = changed(std::string(kOnDisk), "name: one", "name: two");
  const std::string if_match = "If-Match: " + stale + "\r\n";
  EXPECT_EQ(ask(request("PUT", "/config/router", next, if_match)).status, 200);
  const Reply late = ask(request("PUT", "/config/router", kOnDisk, if_match));
  EXPECT_EQ(late.status, 412);
  EXPECT_EQ(member(late.body, "error.code"), "CONFIG_CHANGED");
  EXPECT_EQ(ask(request("PUT", "/config/router", kOnDisk, "If-Match: \"x\", *\r\n")).status, 200);
  // An operator edits the file by hand.
  folder_.write("config.yaml", "version: v0.3\n");
  EXPECT_EQ(ask(request("PATCH", "/config/router", "routing: {strategy: confidence}")).status, 409);
  const Reply other = ask(request("PUT", "/config/router?same_file=true", next));
  EXPECT_EQ(other.status, 409) << other.body;
  EXPECT_EQ(on_disk(), "version: v0.3\n");
  EXPECT_TRUE(eventually([&] {
    return member(ask(get("/config/status")).body, "refused.why").find("providers: missing") !=
           std::string::npos;
  }));
  EXPECT_EQ(member(ask(get("/config/hash")).body, "activation_status"), "refused");
  EXPECT_EQ(ask(request("PUT", "/config/router", next)).status, 200) << "mends it";
  EXPECT_EQ(ask(request("PUT", "/config/router?same_file=true", next)).status, 200);
  EXPECT_EQ(member(ask(get("/config/status")).body, "refused"), "null");
}

TEST_F(ConfigApi, names_the_remedy_for_a_missing_file) {
  start();
  fs::remove(file_);
  const Reply gone = ask(request("PATCH", "/config/router", "routing: {strategy: confidence}"));
  EXPECT_EQ(gone.status, 409);
  EXPECT_EQ(member(gone.body, "error.code"), "CONFIG_MISSING");
  EXPECT_EQ(ask(request("PUT", "/config/router", kOnDisk)).status, 200);
}

TEST_F(ConfigApi, checks_without_changing) {
  start();
  const Reply good =
      ask(request("POST", "/config/router/validate",
                  changed(std::string(kOnDisk), "port: 0, timeout", "port: 7, timeout")));
  EXPECT_EQ(member(good.body, "valid"), "true");
  EXPECT_NE(member(good.body, "takes_restart.0").find("listeners.http.port"), std::string::npos);
  const Reply bad = ask(request("POST", "/config/router/validate", "{\"version\":\"v0.3\"}"));
  EXPECT_EQ(member(bad.body, "valid"), "false");
  EXPECT_NE(member(bad.body, "errors.0").find("providers: missing"), std::string::npos);
  EXPECT_EQ(on_disk(), kOnDisk);
}

TEST_F(ConfigApi, reports_that_the_file_cannot_be_written) {
  if (::geteuid() == 0) {
    // Root can write everywhere, but a folder in the place of the file stops root as well.
    start();
    fs::create_directories(folder_.at("config.yaml.partial/x"));
  } else {
    start();
    fs::permissions(folder_.at(""), fs::perms::owner_read | fs::perms::owner_exec);
  }
  const Reply put = ask(
      request("PUT", "/config/router", changed(std::string(kOnDisk), "name: one", "name: two")));
  EXPECT_EQ(put.status, 500);
  EXPECT_EQ(member(put.body, "error.code"), "WRITE_ERROR");
  EXPECT_EQ(decision(), "one");
  fs::permissions(folder_.at(""), fs::perms::owner_all);
}

class ManagementAccess : public ConfigApi {
 protected:
  void start_with_tokens() {
    ::setenv("SIGNALBOX_TEST_ADMIN", "admin-token", 1);
    ::setenv("SIGNALBOX_TEST_VIEWER", "viewer-token", 1);
    ::setenv("SIGNALBOX_TEST_OPERATOR", "operator-token", 1);
    ::unsetenv("SIGNALBOX_TEST_UNSET");
    start(std::string(kOnDisk) +
          "      auth: {mode: bearer, tokens: [{env: SIGNALBOX_TEST_ADMIN, role: admin}, {env: "
          "SIGNALBOX_TEST_VIEWER, role: viewer}, {env: SIGNALBOX_TEST_OPERATOR, role: operator}, "
          "{env: SIGNALBOX_TEST_UNSET, role: admin}]}\n");
  }
  static std::string with(std::string_view token) {
    return fmt::format("Authorization: Bearer {}\r\n", token);
  }
};

TEST_F(ManagementAccess, depends_on_the_role_of_the_token) {
  start_with_tokens();
  EXPECT_EQ(ask(get("/health")).status, 200) << "those who watch need no token";
  EXPECT_EQ(ask(get("/ready")).status, 200);
  const Reply nobody = ask(get("/config/router"));
  EXPECT_EQ(nobody.status, 401);
  EXPECT_EQ(nobody.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(member(nobody.body, "error.code"), "UNAUTHORIZED");
  for (const char* token : {"", "wrong", "admin-toke", "admin-tokens", "Admin-token"})
    EXPECT_EQ(ask(get("/config/router", with(token))).status, 401) << token;
  EXPECT_EQ(ask(get("/config/router", "Authorization: Basic admin-token\r\n")).status, 401);

  const Reply viewer = ask(get("/config/router", with("viewer-token")));
  EXPECT_EQ(viewer.status, 200);
  EXPECT_EQ(member(viewer.body, "global.services.response_api.redis.password"), config::kMasked);
  EXPECT_EQ(ask(request("PATCH", "/config/router", "{}", with("viewer-token"))).status, 403);
  // The API's messages may contain the values of environment variables.
  EXPECT_EQ(ask(request("POST", "/config/router/validate", "{}", with("viewer-token"))).status,
            403);

  const Reply admin = ask(get("/config/router", "authorization: bearer admin-token\r\n"));
  EXPECT_EQ(member(admin.body, "global.services.response_api.redis.password"), "hunter2");
  EXPECT_EQ(ask(request("PATCH", "/config/router", "{\"routing\":{\"strategy\":\"confidence\"}}",
                        with("admin-token")))
                .status,
            200);
}

TEST_F(ManagementAccess, shows_comments_of_the_file_only_with_the_right_to_see_secrets) {
  start_with_tokens();
  const auto file = [&](std::string_view token) {
    return ask(get("/config/router?format=file", with(token))).body;
  };
  EXPECT_EQ(file("admin-token"), on_disk());
  EXPECT_EQ(file("operator-token").find("# kept"), std::string::npos);
  EXPECT_EQ(file("viewer-token").find("hunter2"), std::string::npos);
  const auto original = [&](std::string_view token) {
    return ask(get("/config/router?format=original", with(token)));
  };
  EXPECT_EQ(original("admin-token").body, on_disk());
  for (const char* token : {"operator-token", "viewer-token"}) {
    EXPECT_EQ(original(token).status, 403) << token;
    EXPECT_EQ(original(token).body.find("version:"), std::string::npos);
  }
}

TEST_F(ManagementAccess, the_right_to_write_cannot_send_a_secret_to_another_address) {
  start_with_tokens();
  for (
      const char* change :
      {R"({"global":{"services":{"response_api":{"redis":{"address":"evil:1"}}}}})",
       R"({"global":{"services":{"response_api":{"redis":{"address":"evil:1","password":"********"}}}}})"}) {
    const Reply refused = ask(request("PATCH", "/config/router", change, with("operator-token")));
    EXPECT_EQ(refused.status, 400) << change;
    EXPECT_NE(refused.body.find("give the secret again"), std::string::npos) << refused.body;
  }
}

TEST_F(ManagementAccess, the_right_to_write_cannot_extend_its_own_rights) {
  start_with_tokens();
  const auto patch = [&](std::string_view token, std::string_view change) {
    return ask(request("PATCH", "/config/router", change, with(token)));
  };
  EXPECT_EQ(patch("operator-token", R"({"routing":{"strategy":"confidence"}})").status, 200);
  for (const char* change :
       {R"({"global":{"services":{"management_api":{"auth":null}}}})",
        R"({"global":{"services":{"management_api":{"auth":{"mode":"disabled"}}}}})",
        R"({"global":{"services":null}})"}) {
    const Reply refused = patch("operator-token", change);
    EXPECT_EQ(refused.status, 403) << change;
    EXPECT_EQ(member(refused.body, "error.code"), "FORBIDDEN");
  }
  EXPECT_EQ(ask(get("/config/router")).status, 401) << "tokens are asked for as before";
  EXPECT_EQ(patch("admin-token",
                  R"({"global":{"services":{"management_api":{"auth":{"mode":"disabled"}}}}})")
                .status,
            200);
}

const std::string kPatch = R"({"routing":{"strategy":"confidence"}})";

TEST_F(ManagementAccess, changes_without_tokens_need_the_local_token) {
  start();
  EXPECT_EQ(fs::status(token_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const std::string change = request("PATCH", "/config/router", kPatch);
  for (const std::string& sent :
       {change, request("PATCH", "/config/router", kPatch, with("")),
        request("PATCH", "/config/router", kPatch, with("wrong")),
        request("POST", "/config/router/validate", kPatch), request("POST", "/api/v1/keys", "{}"),
        request("DELETE", "/api/v1/keys/a")}) {
    const Reply refused = ask_as_it_is(sent);
    EXPECT_EQ(refused.status, 401) << sent;
    EXPECT_NE(refused.body.find(token_file().string()), std::string::npos) << refused.body;
  }
  EXPECT_EQ(ask_as_it_is(get("/config/router?format=file")).body,
            ask(get("/config/router?format=file")).body);
  const Reply known = ask_as_it_is(get("/api/v1/access"));
  EXPECT_EQ(member(known.body, "changes_need_token"), "true");
  EXPECT_EQ(member(known.body, "token_file"), token_file().string());
  EXPECT_EQ(known.body.find("config.write"), std::string::npos) << known.body;
  EXPECT_EQ(ask(change).status, 200);
  EXPECT_NE(ask(get("/api/v1/access")).body.find("config.write"), std::string::npos);
}

TEST_F(ManagementAccess, the_local_token_stays_until_its_file_is_removed) {
  start();
  const std::string token = read_file(token_file(), 1 << 10).value();
  EXPECT_GT(token.size(), 40U);
  EXPECT_NE(daemon_->dashboard().find("/#token=" + token.substr(0, token.size() - 1)),
            std::string::npos);
  daemon_.reset();
  start();
  EXPECT_EQ(read_file(token_file(), 1 << 10).value(), token);
  fs::remove(token_file());
  daemon_->reload();
  ASSERT_TRUE(eventually([this] { return fs::exists(token_file()); }));
  EXPECT_NE(read_file(token_file(), 1 << 10).value(), token);
}

TEST_F(ManagementAccess, a_token_that_others_can_read_gives_no_access) {
  const std::string token(40, 't');
  folder_.write(".signalbox/config.yaml.token", token);
  fs::permissions(token_file(), fs::perms::owner_read | fs::perms::others_read);
  start();
  const Reply refused = ask_as_it_is(request("PATCH", "/config/router", kPatch, with(token)));
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.body.find("expected a file of mode 0600"), std::string::npos) << refused.body;
  EXPECT_NE(ask(get("/config/status")).body.find("no local token"), std::string::npos);
  EXPECT_EQ(daemon_->dashboard(), "");

  fs::remove(token_file());
  fs::create_symlink(folder_.write("elsewhere", token), token_file());
  daemon_.reset();
  start();
  EXPECT_EQ(ask_as_it_is(request("PATCH", "/config/router", kPatch, with(token))).status, 401);
}

TEST_F(ManagementAccess, a_token_that_no_header_can_carry_gives_no_access) {
  folder_.write(".signalbox/config.yaml.token", std::string(40, 't') + '\x01');
  fs::permissions(token_file(), fs::perms::owner_read | fs::perms::owner_write);
  start();
  const Reply refused = ask_as_it_is(request("PATCH", "/config/router", kPatch));
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.body.find("remove the file to get a new one"), std::string::npos)
      << refused.body;
}

TEST_F(ManagementAccess, a_folder_that_cannot_be_made_is_reported_with_what_to_do) {
  fs::create_directory_symlink(folder_.at("nowhere/at/all"), folder_.at(".signalbox"));
  start();
  const Reply refused = ask_as_it_is(request("PATCH", "/config/router", kPatch));
  EXPECT_EQ(refused.status, 401);
  for (const char* part : {"STATE_DIRECTORY", "auth.mode to bearer", "token_for_changes"})
    EXPECT_NE(refused.body.find(part), std::string::npos) << refused.body;
  EXPECT_NE(
      member(ask(get("/api/v1/access")).body, "no_token").find(folder_.at(".signalbox: ").string()),
      std::string::npos);
}

TEST(LocalToken, lies_beside_the_configuration_or_in_the_folder_of_the_service) {
  ::unsetenv("STATE_DIRECTORY");
  EXPECT_EQ(access::local_token_file("/etc/a/config.yaml"), "/etc/a/.signalbox/config.yaml.token");
  EXPECT_EQ(access::local_token_file("config.yaml"),
            fs::current_path() / ".signalbox/config.yaml.token");
  ::setenv("STATE_DIRECTORY", "/var/lib/a:/var/lib/b", 1);
  EXPECT_EQ(access::local_token_file("/etc/a/config.yaml"), "/var/lib/a/config.yaml.token");
  ::unsetenv("STATE_DIRECTORY");
}

TEST(LocalToken, is_the_same_for_routers_that_make_it_at_once) {
  const Folder folder;
  std::vector<std::future<access::LocalToken>> routers;
  for (int i = 0; i < 16; ++i)
    routers.push_back(
        std::async(std::launch::async, access::open_local_token, folder.at("a.yaml")));
  std::set<std::string> secrets;
  for (auto& router : routers) secrets.insert(router.get().secret);
  EXPECT_EQ(secrets.size(), 1U);
  EXPECT_FALSE(secrets.contains(""));
  const fs::directory_iterator files(folder.at(".signalbox"));
  EXPECT_EQ(std::distance(fs::begin(files), fs::end(files)), 1);
}

TEST_F(ManagementAccess, the_configuration_may_require_no_local_token) {
  start(std::string(kOnDisk) + "      auth: {token_for_changes: false}\n");
  EXPECT_FALSE(fs::exists(token_file()));
  EXPECT_EQ(ask(request("PATCH", "/config/router", kPatch)).status, 200);
}

TEST_F(ManagementAccess, needs_remote_exposure_to_listen_to_other_machines) {
  auto loaded = config::parse(
      changed(std::string(kOnDisk), "bind_address: 127.0.0.1", "bind_address: 0.0.0.0"),
      "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto daemon = Daemon::start(std::move(loaded->config), no_models);
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().message,
            "test.yaml: global.services.management_api.bind_address: other machines can connect to "
            "\"0.0.0.0\": set remote_exposure to true, or bind_address to 127.0.0.1");
}

TEST_F(ManagementAccess, refuses_changes_from_other_machines_without_a_token) {
  start(changed(std::string(kOnDisk), "bind_address: 127.0.0.1",
                "bind_address: 0.0.0.0\n      remote_exposure: true"));
  EXPECT_EQ(ask(get("/config/router")).status, 200);
  const Reply patched = ask(request("PATCH", "/config/router", "{}"));
  EXPECT_EQ(patched.status, 403);
  EXPECT_NE(patched.body.find("auth.mode"), std::string::npos);
  const std::string status = ask(get("/config/status")).body;
  EXPECT_NE(status.find("also the audit log and the list of keys"), std::string::npos) << status;
}

std::string asked_as(std::string_view host, std::string_view version = "1.1") {
  return fmt::format("GET /config/router HTTP/{}\r\n{}\r\n", version,
                     host.empty() ? "" : fmt::format("Host: {}\r\n", host));
}

TEST_F(ManagementAccess, answers_under_its_own_names_only) {
  start(changed(std::string(kOnDisk), "bind_address: 127.0.0.1",
                "bind_address: 127.0.0.1\n      allowed_hosts: [router.internal]"));
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "[::1]:80",
                           "127.8.9.1", "router.internal:8080", "Router.Internal."}) {
    EXPECT_EQ(ask(asked_as(host)).status, 200) << host;
  }
  EXPECT_EQ(ask(asked_as("", "1.0")).status, 200) << "no browser sends none";
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080",
                           "router.internal.x", "192.0.2.7", "0.0.0.0", "[::ffff:192.0.2.7]"}) {
    const Reply refused = ask(asked_as(host));
    EXPECT_EQ(refused.status, 403) << host;
    EXPECT_EQ(member(refused.body, "error.code"), "FORBIDDEN") << host;
  }
  for (const char* no_host : {"[::1", "[", ":8080"})
    EXPECT_EQ(ask(asked_as(no_host)).status, 400) << no_host;
  EXPECT_EQ(ask("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
}

TEST_F(ManagementAccess, answers_under_any_ip_address_if_it_listens_on_all) {
  start(changed(std::string(kOnDisk), "bind_address: 127.0.0.1",
                "bind_address: 0.0.0.0\n      remote_exposure: true"));
  EXPECT_EQ(ask(asked_as("192.0.2.7:8080")).status, 200);
  EXPECT_EQ(ask(asked_as("evil.example")).status, 403);
}

TEST_F(ManagementAccess, checks_the_token_before_the_host_name) {
  start_with_tokens();
  EXPECT_EQ(ask(asked_as("router.example")).status, 401);
}

TEST_F(ManagementAccess, keeps_pages_of_other_sites_out) {
  start();
  const std::string patch = R"({"routing":{"strategy":"confidence"}})";
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1.evil.example:8080"}) {
    EXPECT_EQ(ask(request("PATCH", "/config/router", patch, fmt::format("Origin: {}\r\n", origin)))
                  .status,
              403)
        << origin;
  }
  const auto from = [&](std::string_view host, std::string_view origin) {
    return ask(fmt::format("PATCH /config/router HTTP/1.1\r\nHost: {}\r\nOrigin: {}\r\n"
                           "Content-Length: {}\r\n\r\n{}",
                           host, origin, patch.size(), patch))
        .status;
  };
  EXPECT_EQ(from("localhost:8080", "http://localhost:8080"), 200);
  EXPECT_EQ(from("[::1]:8080", "http://[::1]:8080"), 200);
  EXPECT_EQ(from("localhost:8080", "http://localhost:3000"), 403)
      << "another program of the machine";
  EXPECT_EQ(from("localhost:8080", "http://localhost"), 403);
  EXPECT_EQ(from("localhost", "http://localhost"), 200);
}

}  // namespace
}  // namespace signalbox::test
