// Tests what an export's reply means, by the tables of the OpenTelemetry protocol.

#include "router/observe/delivery.h"

#include <gtest/gtest.h>

#include "base/protobuf.h"

namespace signalbox::observe {
namespace {

using protobuf::Writer;
using std::chrono::milliseconds;
using Outcome = Delivery::Outcome;

/// A google.rpc.Status with one detail.
std::string status_with(std::string_view type, uint64_t seconds, uint64_t nanos) {
  Writer duration, info, any, out;
  duration.varint(1, seconds).varint(2, nanos);
  info.message(1, duration);
  any.bytes(1, type).message(2, info);
  return std::move(out.varint(1, 8).bytes(2, "slow down").message(3, any)).take();
}

std::string response(uint64_t rejected, std::string_view why) {
  Writer partial, out;
  partial.varint(1, rejected).bytes(2, why);
  return std::move(out.message(1, partial)).take();
}

constexpr const char* kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";

TEST(Delivery, grpc_statuses_decide_on_a_retry_as_listed) {
  std::string got;
  for (int status = -1; status < 18; ++status) {
    const Outcome outcome = delivery_over_grpc(status, "", "", "").outcome;
    got += fmt::format("{} {}\n", status,
                       outcome == Outcome::kAgain     ? "again"
                       : outcome == Outcome::kRefused ? "refused"
                                                      : "accepted");
  }
  EXPECT_EQ(got,
            "-1 refused\n0 accepted\n1 again\n2 refused\n3 refused\n4 again\n5 refused\n"
            "6 refused\n7 refused\n8 refused\n9 refused\n10 again\n11 again\n12 refused\n"
            "13 refused\n14 again\n15 again\n16 refused\n17 refused\n");
}

TEST(Delivery, an_overloaded_collector_is_retried_only_if_it_states_a_time) {
  const auto full = [](std::string_view details) {
    return delivery_over_grpc(8, "no room", details, "");
  };
  EXPECT_EQ(full("").outcome, Outcome::kRefused);
  EXPECT_EQ(full("").message, "gRPC status RESOURCE_EXHAUSTED: no room");
  EXPECT_EQ(full(status_with("type.googleapis.com/google.rpc.ErrorInfo", 3, 0)).outcome,
            Outcome::kRefused);
  EXPECT_EQ(full(status_with(kRetryInfo, 3, 250'000'000)).outcome, Outcome::kAgain);
  EXPECT_EQ(full(status_with(kRetryInfo, 3, 250'000'000)).pause, milliseconds(3'250));
  EXPECT_EQ(delivery_over_grpc(14, "", status_with(kRetryInfo, 2, 0), "").pause,
            milliseconds(2'000));
  EXPECT_EQ(full("\xff\xff").outcome, Outcome::kRefused);
}

TEST(Delivery, a_requested_pause_has_bounds) {
  const auto pause = [](uint64_t seconds, uint64_t nanos) {
    return delivery_over_grpc(14, "", status_with(kRetryInfo, seconds, nanos), "").pause;
  };
  EXPECT_EQ(pause(86'400, 0), kDeliveryPauseMax);
  EXPECT_EQ(pause(~uint64_t{0} >> 1, ~uint64_t{0} >> 1), kDeliveryPauseMax);
  EXPECT_EQ(pause(~uint64_t{0}, 0), milliseconds(0)) << "minus one second";
  EXPECT_EQ(pause(1, ~uint64_t{0} >> 1), milliseconds(1'999));
}

TEST(Delivery, http_statuses_decide_on_a_retry_as_listed) {
  for (const int status : {429, 502, 503, 504})
    EXPECT_EQ(delivery_over_http(status, "", "").outcome, Outcome::kAgain) << status;
  for (const int status : {301, 400, 401, 404, 413, 500, 501})
    EXPECT_EQ(delivery_over_http(status, "7", "").outcome, Outcome::kRefused) << status;
  EXPECT_EQ(delivery_over_http(400, "", "").message, "HTTP status 400");
  EXPECT_EQ(delivery_over_http(503, "7", "").pause, milliseconds(7'000));
  EXPECT_EQ(delivery_over_http(503, "99999", "").pause, kDeliveryPauseMax);
  for (const char* other : {"soon", "-1", "7s", "Fri, 31 Dec 1999 23:59:59 GMT"})
    EXPECT_EQ(delivery_over_http(503, other, "").pause, milliseconds(0)) << other;
  EXPECT_EQ(delivery_over_http(200, "", "").outcome, Outcome::kAccepted);
  EXPECT_EQ(delivery_over_http(202, "", "{}"), Delivery{});
}

TEST(Delivery, an_accepted_export_may_have_lost_spans) {
  const std::string body = response(4, "older than\nan hour");
  const Delivery partial{.rejected = 4, .message = "older than an hour"};
  EXPECT_EQ(delivery_over_grpc(0, "", "", body), partial);
  EXPECT_EQ(delivery_over_http(200, "", body), partial);
  EXPECT_EQ(delivery_over_http(200, "", response(~uint64_t{0}, "")).rejected, 0U);
  EXPECT_EQ(delivery_over_grpc(0, "", "", response(1, std::string(5'000, 'x'))).message.size(),
            200U);
}

TEST(Delivery, a_missing_reply_is_retried) {
  EXPECT_EQ(not_delivered("cannot connect"),
            (Delivery{.outcome = Outcome::kAgain, .message = "cannot connect"}));
}

}  // namespace
}  // namespace signalbox::observe
