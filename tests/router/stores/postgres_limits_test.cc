// Tests the time limits that a configuration sets for a PostgreSQL server.

#include <gtest/gtest.h>

#include "router/shared_responses/postgres_responses.h"
#include "router/stores/postgres.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PostgresLimits, are_those_of_the_configuration) {
  config::Postgres postgres;
  postgres.host = "localhost";
  postgres.dial_timeout = 2;
  postgres.read_timeout = 3;
  postgres.write_timeout = 40;
  shared_responses::PostgresOptions options;
  ASSERT_TRUE(set_postgres(postgres, options));
  EXPECT_EQ(options.server.connect_limit, seconds(2));
  EXPECT_EQ(options.read_limit, seconds(3));
  EXPECT_EQ(options.write_limit, seconds(40));
  EXPECT_EQ(options.server.statement_max, seconds(40)) << "the server would end a write earlier";
}

TEST(PostgresLimits, are_those_of_the_store_without_a_key) {
  config::Postgres postgres;
  postgres.host = "localhost";
  shared_responses::PostgresOptions options;
  ASSERT_TRUE(set_postgres(postgres, options));
  EXPECT_EQ(options.server.connect_limit, milliseconds(500));
  EXPECT_EQ(options.read_limit, milliseconds(500));
  EXPECT_EQ(options.write_limit, milliseconds(2000));
}

}  // namespace
}  // namespace signalbox::stores
