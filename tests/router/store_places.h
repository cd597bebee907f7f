#pragma once
// The real servers that routers share, for tests that hold for each of them.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/router/postgres_process.h"
#include "tests/router/redis_process.h"
#include "tests/router/two_sites.h"

namespace signalbox::test {

class RedisPlace {
 public:
  static std::string missing() { return RedisProcess::missing(); }
  void start() {
    redis_.start();
    client_ = std::make_unique<stores::Redis>(address());
  }
  /// As by kill -9.
  void end() { redis_.server().end(); }
  void start_again(const std::vector<std::string>& options = {}) { redis_.start(options); }
  void restart_without_data() {
    end();
    start_again();
  }
  void signal(int number) { redis_.server().signal(number); }
  stores::RedisServer address(std::chrono::milliseconds limit = kWithin) const {
    stores::RedisServer out = redis_.address();
    out.connect_limit = limit;
    return out;
  }
  stores::Redis& client() { return *client_; }

 private:
  RedisProcess redis_{false};
  std::unique_ptr<stores::Redis> client_;
};

/// One server for all tests of a program, because making it takes seconds. Each test begins without
/// tables.
class PostgresPlace {
 public:
  static std::string missing() { return PostgresProcess::missing(); }
  void start() {
    if (process() == nullptr) process() = std::make_unique<PostgresProcess>();
    start_again();
    auto client = stores::make_postgres(address(), {"absent", {}});
    ASSERT_TRUE(client);
    client_ = *std::move(client);
    drop_tables();
  }
  /// As by kill -9. The data stay.
  void end() { process()->server().end(); }
  void start_again() {
    if (!process()->server().is_running()) process()->start();
  }
  /// Routers make the tables again, and learn of the loss by the new start.
  void restart_without_data() {
    drop_tables();
    end();
    start_again();
  }
  void signal(int number) { process()->server().signal(number); }
  stores::PostgresServer address(std::chrono::milliseconds limit = kWithin) const {
    stores::PostgresServer out = process()->address();
    out.connect_limit = limit;
    return out;
  }

  std::vector<stores::Postgres::Row> ask(const std::string& statement) {
    auto done = client_->run(statement, {}, kWithin);
    EXPECT_TRUE(done) << statement << ": " << (done ? "" : done.error().message);
    return done ? *std::move(done) : std::vector<stores::Postgres::Row>();
  }
  /// The first cell, which must be a text.
  std::string text(const std::string& statement) {
    const auto rows = ask(statement);
    return rows.empty() || rows[0].empty() ? "" : rows[0][0];
  }

 private:
  void drop_tables() {
    ask("DO $$ DECLARE each text; BEGIN FOR each IN SELECT tablename FROM pg_tables WHERE "
        "schemaname = 'public' LOOP EXECUTE 'DROP TABLE ' || each || ' CASCADE'; END LOOP; END $$");
  }
  static std::unique_ptr<PostgresProcess>& process() {
    static std::unique_ptr<PostgresProcess> out;
    return out;
  }
  std::unique_ptr<stores::Postgres> client_;
};

}  // namespace signalbox::test
