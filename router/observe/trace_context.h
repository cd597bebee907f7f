#pragma once
// Identifies a request in logs and traces: x-request-id, and W3C's trace context (level 1, version
// 00), by which one trace spans clients, router and workers.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::observe {

inline constexpr size_t kRequestIdBytesMax = 128;

/// Returns the client's own id if it suits a log line and a header (printable ASCII without blanks,
/// at most kRequestIdBytesMax), otherwise a new one: "req-" and 32 hexadecimal digits.
std::string request_id(std::optional<std::string_view> given);

struct TraceContext {
  std::array<uint8_t, 16> trace{};  // not all zero
  std::array<uint8_t, 8> parent{};  // the client's span; all zero: none
  std::array<uint8_t, 8> span{};    // our span
  bool sampled = false;             // the caller's sampling flag
  bool state_holds = false;         // the client's tracestate may be forwarded

  bool has_parent() const { return parent != std::array<uint8_t, 8>{}; }
  /// Returns the header for an upstream, with our span `as` as the parent.
  std::string traceparent(const std::array<uint8_t, 8>& as, bool recorded) const;
  std::string traceparent(bool recorded) const { return traceparent(span, recorded); }
};

/// Continues the trace of the client's `traceparent`, or begins a new one if it is missing or
/// invalid by the specification; then its tracestate must not be forwarded either. `count` is the
/// number of such headers; more than one is invalid.
TraceContext trace_context(std::optional<std::string_view> traceparent, size_t count = 1);

std::array<uint8_t, 8> new_span_id();

/// A UUID of version 4.
std::string random_uuid();

/// Lower-case hexadecimal digits.
std::string hex(const uint8_t* bytes, size_t size);
template <size_t N>
std::string hex(const std::array<uint8_t, N>& bytes) {
  return hex(bytes.data(), N);
}

/// True if this trace belongs to the given share (0 to 1) of all traces. Every program gets the
/// same result for the same share, as OpenTelemetry's TraceIdRatioBased requires.
bool is_in_share(const std::array<uint8_t, 16>& trace, double share);

}  // namespace signalbox::observe
