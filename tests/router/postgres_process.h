#pragma once
// Runs a real PostgreSQL for tests. Its answers can be on a disk that tests can fill.

#include <memory>
#include <string>
#include <vector>

#include "router/stores/postgres.h"
#include "tests/router/server_process.h"
#include "tests/router/small_disk.h"

namespace signalbox::test {

class PostgresProcess {
 public:
  /// The reason for GTEST_SKIP, or "" if the server and our client of it are available.
  static std::string missing() {
    if (const auto client = stores::make_postgres({}, {"any", {}}); !client)
      return client.error().message;
    return program("postgres").empty() ? "PostgreSQL is not installed" : "";
  }

  void start() {
    const std::string data = (server_.folder() / "data").string();
    if (!std::filesystem::exists(data)) {
      ASSERT_TRUE(
          server_.run({program("initdb"), "-D", data, "-U", "tester", "-A", "trust", "-N"}));
    }
    std::filesystem::remove(server_.folder() / "data" / "postmaster.pid");
    server_.start({program("postgres"), "-D", data, "-p", std::to_string(server_.port()), "-h",
                   "127.0.0.1", "-k", server_.folder().string(), "-F"});
    // The server listens before it is ready, and rejects connections until then.
    for (int i = 0; i < 200 && !run("SELECT 1"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!has_disk() || database_ != kPostgres) return;
    ASSERT_TRUE(
        run(fmt::format("CREATE TABLESPACE small LOCATION '{}'", disk_->folder().string())));
    ASSERT_TRUE(run("CREATE DATABASE answers TABLESPACE small"));
    database_ = "answers";
  }
  /// Puts the answers on a separate disk, while the log stays in place. Must be called before
  /// start(), on this thread. Returns the reason for GTEST_SKIP if there can be no such disk,
  /// otherwise "".
  std::string add_small_disk() {
    const auto folder = server_.folder() / "small";
    EXPECT_TRUE(server_.run({"/bin/mkdir", folder.string()}));
    disk_ = std::make_unique<SmallDisk>(folder, kDiskMegabytes);
    return disk_->missing();
  }
  bool has_disk() const { return disk_ && disk_->missing().empty(); }
  const SmallDisk& disk() const { return *disk_; }

  /// Returns the server's address, with the limits that a router uses.
  stores::PostgresServer address() const {
    return {.host = "127.0.0.1",
            .port = server_.port(),
            .database = database_,
            .user = "tester",
            .ssl_mode = "disable"};
  }
  /// Returns the configuration keys for a router, with another port in between.
  std::string keys(uint16_t port) const {
    return fmt::format("host: 127.0.0.1, port: {}, database: {}, user: tester, ssl_mode: disable",
                       port, database_);
  }
  ServerProcess& server() { return server_; }
  const ServerProcess& server() const { return server_; }

 private:
  static constexpr const char* kPostgres = "postgres";
  static constexpr size_t kDiskMegabytes = 24;  // an empty database takes 8

  bool run(const std::string& statement) const {
    return server_.run({program("psql"), "-h", "127.0.0.1", "-p", std::to_string(server_.port()),
                        "-U", "tester", "-d", kPostgres, "-c", statement});
  }
  static std::string program(std::string_view name) {
    std::vector<std::string> places;
    for (int version = 17; version >= 12; --version)
      places.push_back(fmt::format("/usr/lib/postgresql/{}/bin/{}", version, name));
    return test::program(places);
  }
  ServerProcess server_{"postgres", "postgres"};
  std::unique_ptr<SmallDisk> disk_;  // null: no separate disk
  std::string database_ = kPostgres;
};

}  // namespace signalbox::test
