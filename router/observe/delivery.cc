// Field numbers come from trace_service.proto and metrics_service.proto, and from
// google/rpc/status.proto and error_details.proto. If a reply cannot be read, its status alone
// determines the outcome.

#include "router/observe/delivery.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/protobuf.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;
using Outcome = Delivery::Outcome;

constexpr size_t kMessageBytesMax = 200;
constexpr std::string_view kRetryInfo = "google.rpc.RetryInfo";

// In the order of their numbers.
constexpr std::array<std::string_view, 17> kStatusNames = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};
constexpr std::string_view kRetryable[] = {"CANCELLED",    "DEADLINE_EXCEEDED", "ABORTED",
                                           "OUT_OF_RANGE", "UNAVAILABLE",       "DATA_LOSS"};

std::string_view name_of(int status) {
  const bool known = status >= 0 && static_cast<size_t>(status) < kStatusNames.size();
  return known ? kStatusNames[static_cast<size_t>(status)] : "an unknown status";
}

/// One line of printable ASCII.
std::string short_line(std::string_view text) {
  std::string out(text.substr(0, kMessageBytesMax));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  return out;
}

/// Calls `visit` for each field up to the first that cannot be read.
template <class Visit>
void each_field(std::string_view message, const Visit& visit) {
  protobuf::Reader reader(message);
  for (auto field = reader.next(); field && *field; field = reader.next()) visit(**field);
}

std::string_view bytes_or_none(const protobuf::Field& field) {
  return field.bytes().value_or(std::string_view());
}

milliseconds within_bounds(uint64_t seconds, uint64_t nanoseconds) {
  const milliseconds most = kDeliveryPauseMax;
  if (seconds >= static_cast<uint64_t>(kDeliveryPauseMax.count()) * 60) return most;
  const uint64_t more = std::min<uint64_t>(nanoseconds / 1'000'000, 999);
  return milliseconds(seconds * 1'000 + more);
}

/// Returns a google.protobuf.Duration; negative ones are 0.
milliseconds duration_of(std::string_view message) {
  constexpr uint32_t kSeconds = 1, kNanos = 2;
  int64_t seconds = 0, nanos = 0;
  each_field(message, [&](const protobuf::Field& field) {
    const auto value = static_cast<int64_t>(field.varint().value_or(0));
    if (field.number() == kSeconds) seconds = value;
    if (field.number() == kNanos) nanos = value;
  });
  if (seconds < 0 || nanos < 0) return milliseconds(0);
  return within_bounds(static_cast<uint64_t>(seconds), static_cast<uint64_t>(nanos));
}

/// Returns the delay of the RetryInfo in a google.rpc.Status, if it has one.
std::optional<milliseconds> retry_delay(std::string_view status) {
  constexpr uint32_t kDetails = 3, kTypeUrl = 1, kValue = 2, kDelay = 1;
  std::optional<milliseconds> out;
  each_field(status, [&](const protobuf::Field& detail) {
    if (detail.number() != kDetails) return;
    std::string_view type, value;
    each_field(bytes_or_none(detail), [&](const protobuf::Field& field) {
      if (field.number() == kTypeUrl) type = bytes_or_none(field);
      if (field.number() == kValue) value = bytes_or_none(field);
    });
    if (type.substr(type.rfind('/') + 1) != kRetryInfo) return;
    out = milliseconds(0);
    each_field(value, [&](const protobuf::Field& field) {
      if (field.number() == kDelay) out = duration_of(bytes_or_none(field));
    });
  });
  return out;
}

/// Reads an ExportTraceServiceResponse or an ExportMetricsServiceResponse, whose numbers are equal.
Delivery accepted(std::string_view body) {
  constexpr uint32_t kPartialSuccess = 1, kRejected = 1, kErrorMessage = 2;
  Delivery out;
  each_field(body, [&](const protobuf::Field& part) {
    if (part.number() != kPartialSuccess) return;
    each_field(bytes_or_none(part), [&](const protobuf::Field& field) {
      if (field.number() == kRejected) {
        const auto count = static_cast<int64_t>(field.varint().value_or(0));
        out.rejected = static_cast<uint64_t>(std::max<int64_t>(count, 0));
      }
      if (field.number() == kErrorMessage) out.message = short_line(bytes_or_none(field));
    });
  });
  return out;
}

}  // namespace

Delivery not_delivered(std::string_view why) {
  return {.outcome = Outcome::kAgain, .message = short_line(why)};
}

Delivery delivery_over_http(int status, std::string_view retry_after, std::string_view body) {
  if (status / 100 == 2) return accepted(body);
  Delivery out;
  out.message = fmt::format("HTTP status {}", status);
  const bool again = status == 429 || status == 502 || status == 503 || status == 504;
  out.outcome = again ? Outcome::kAgain : Outcome::kRefused;
  uint64_t seconds = 0;
  const char* const end = retry_after.data() + retry_after.size();
  const auto [at, error] = std::from_chars(retry_after.data(), end, seconds);
  if (again && error == std::errc() && at == end) out.pause = within_bounds(seconds, 0);
  return out;
}

Delivery delivery_over_grpc(int status, std::string_view message, std::string_view details,
                            std::string_view body) {
  if (status == 0) return accepted(body);
  Delivery out;
  const std::string_view name = name_of(status);
  out.message =
      fmt::format("gRPC status {}{}{}", name, message.empty() ? "" : ": ", short_line(message));
  const auto delay = retry_delay(details);
  // A collector that is full for a while sends RESOURCE_EXHAUSTED with a delay.
  const bool again =
      std::find(std::begin(kRetryable), std::end(kRetryable), name) != std::end(kRetryable) ||
      (name == "RESOURCE_EXHAUSTED" && delay);
  out.outcome = again ? Outcome::kAgain : Outcome::kRefused;
  if (again) out.pause = delay.value_or(milliseconds(0));
  return out;
}

}  // namespace signalbox::observe
