// Tests that an exchange with Redis ends in time, also if its connection breaks meanwhile.

#include <gtest/gtest.h>

#include "router/stores/redis.h"
#include "tests/router/net/sockets.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;
using test::Upstream;
using test::Wire;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kGet = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n";

RedisServer server_at(const Upstream& upstream) {
  RedisServer out;
  out.host = "127.0.0.1";
  out.port = upstream.port();
  out.connect_limit = milliseconds(5000);
  return out;
}

TEST(RedisLimits, both_attempts_have_one_limit) {
  constexpr milliseconds kLimit{2000}, kClosesAfter{1800};
  const Upstream upstream([&](Wire& wire, int number) {
    wire.read_exactly(kGet.size());
    if (number == 0) {
      wire.send("$1\r\nb\r\n");
      wire.read_exactly(kGet.size());
      std::this_thread::sleep_for(kClosesAfter);
    } else {
      wire.read_exactly(1);  // nothing comes, until the client closes
    }
  });
  Redis redis(server_at(upstream));
  ASSERT_TRUE(redis.run({"GET", "a"}, kLimit));
  const auto began = Clock::now();
  const auto out = redis.run({"GET", "a"}, kLimit);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kDeadline) << out.error().message;
  EXPECT_LT(Clock::now() - began, kLimit + kClosesAfter);
  EXPECT_EQ(upstream.connections(), 2);
}

}  // namespace
}  // namespace signalbox::stores
