#pragma once
// The real servers of shared keys, and the events that may happen to them and to their set of keys.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "router/shared_keys/postgres_keys.h"
#include "router/shared_keys/redis_keys.h"
#include "tests/router/postgres_process.h"
#include "tests/router/redis_process.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_keys {

inline constexpr std::chrono::milliseconds kGrace{200};

class Store {
 public:
  virtual ~Store() = default;
  virtual std::string missing() const = 0;
  /// Each life begins without a set.
  virtual void start() = 0;
  virtual void end() = 0;
  /// Returns a router's client of the server, with generous time limits.
  virtual std::unique_ptr<KeyServer> connect() const = 0;

  /// Remembers the set, and puts it in the place of the present one.
  virtual void save() = 0;
  virtual void put_back() = 0;
  virtual void remove() = 0;
  /// Changes one field of the set: "epoch", "version", "digest" or "keys".
  virtual void set(std::string_view field, std::string_view value) = 0;
  virtual std::string version() = 0;
  /// True in the time after a restoration in which the set must not change.
  virtual bool is_quiet() = 0;
  virtual void end_quiet() = 0;
};

class RedisStore final : public Store {
 public:
  std::string missing() const override { return test::RedisProcess::missing(); }
  void start() override {
    redis_.start();
    client_ = std::make_unique<stores::Redis>(options().server);
  }
  void end() override { redis_.server().end(); }
  RedisOptions options() const {
    RedisOptions out{.server = redis_.address(), .limit = test::kWithin, .grace = kGrace};
    out.server.connect_limit = test::kWithin;
    return out;
  }
  std::unique_ptr<KeyServer> connect() const override { return make_redis_keys(options()); }

  void save() override { saved_ = ask({"DUMP", kSet}).text; }
  void put_back() override { ask({"RESTORE", kSet, "0", saved_, "REPLACE"}); }
  void remove() override { ask({"DEL", kSet}); }
  void set(std::string_view field, std::string_view value) override {
    ask({"HSET", kSet, field == "keys" ? "text" : field, value});
  }
  std::string version() override { return ask({"HGET", kSet, "version"}).text; }
  bool is_quiet() override { return ask({"EXISTS", kQuietMark}).number == 1; }
  void end_quiet() override { ask({"DEL", kQuietMark}); }

  stores::RedisValue ask(const stores::Redis::Command& command) {
    auto done = client_->run(command, test::kWithin);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *std::move(done) : stores::RedisValue();
  }

 private:
  static constexpr std::string_view kSet = "signalbox:keys:set",
                                    kQuietMark = "signalbox:keys:restored";
  test::RedisProcess redis_{false};
  std::unique_ptr<stores::Redis> client_;
  std::string saved_;
};

/// One server for all tests of a program, because making it takes seconds.
class PostgresStore final : public Store {
 public:
  ~PostgresStore() override {
    if (client_ != nullptr) client_->run("DROP TABLE signalbox_keys", {}, test::kWithin);
  }
  std::string missing() const override { return test::PostgresProcess::missing(); }
  void start() override {
    if (process() == nullptr) process() = std::make_unique<test::PostgresProcess>();
    if (!process()->server().is_running()) process()->start();
    client_ = *stores::make_postgres(options().server, {"signalbox_keys", {}});
    client_->run("DELETE FROM signalbox_keys", {}, test::kWithin);  // there may be none
  }
  void end() override { process()->server().end(); }
  PostgresOptions options() const {
    PostgresOptions out{.server = process()->address(),
                        .read_limit = test::kWithin,
                        .write_limit = test::kWithin,
                        .grace = kGrace};
    out.server.connect_limit = test::kWithin;
    return out;
  }
  std::unique_ptr<KeyServer> connect() const override { return *make_postgres_keys(options()); }

  void save() override {
    ask("DROP TABLE IF EXISTS saved");
    ask("CREATE TABLE saved AS SELECT * FROM signalbox_keys");
  }
  void put_back() override {
    remove();
    ask("INSERT INTO signalbox_keys SELECT * FROM saved");
  }
  void remove() override { ask("DELETE FROM signalbox_keys"); }
  void set(std::string_view field, std::string_view value) override {
    ask(fmt::format("UPDATE signalbox_keys SET {} = $1", field), {value});
  }
  std::string version() override { return text("SELECT version::text FROM signalbox_keys"); }
  bool is_quiet() override {
    return text("SELECT (clock_timestamp() < quiet_until)::text FROM signalbox_keys") == "true";
  }
  void end_quiet() override { ask("UPDATE signalbox_keys SET quiet_until = '-infinity'"); }

  std::vector<stores::Postgres::Row> ask(const std::string& statement,
                                         stores::Postgres::Parameters parameters = {}) {
    auto done = client_->run(statement, parameters, test::kWithin);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *std::move(done) : std::vector<stores::Postgres::Row>();
  }
  std::string text(const std::string& statement) {
    const auto rows = ask(statement);
    return rows.empty() ? "" : rows[0][0];
  }

 private:
  static std::unique_ptr<test::PostgresProcess>& process() {
    static std::unique_ptr<test::PostgresProcess> out;
    return out;
  }
  std::unique_ptr<stores::Postgres> client_;
};

}  // namespace signalbox::shared_keys
