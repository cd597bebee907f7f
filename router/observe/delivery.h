#pragma once
// Reads from a collector's reply whether it took an export. The rules are those of the
// OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/#failures and #failures-1.
// Replies come from another program, so they are read with bounds.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::observe {

struct Delivery {
  enum class Outcome : uint8_t {
    kAccepted,  // all or a part of it; nothing may be sent again
    kAgain,     // the same export may succeed later
    kRefused,   // it must not be sent again
  };
  Outcome outcome = Outcome::kAccepted;
  std::chrono::milliseconds pause{0};  // kAgain: the least that the collector requests
  uint64_t rejected = 0;     // kAccepted: the spans or data points that the collector did not take
  std::string message = {};  // for the operator, one short line; "": none

  bool operator==(const Delivery&) const = default;
};

/// The longest pause that a collector may request.
inline constexpr std::chrono::minutes kDeliveryPauseMax{5};

/// Returns the delivery of an export that got no reply.
Delivery not_delivered(std::string_view why);
/// `retry_after` is the header field of that name. Only a number of seconds in it is read.
Delivery delivery_over_http(int status, std::string_view retry_after, std::string_view body);
/// `details` is the google.rpc.Status of a failure as bytes.
Delivery delivery_over_grpc(int status, std::string_view message, std::string_view details,
                            std::string_view body);

}  // namespace signalbox::observe
