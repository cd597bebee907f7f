#pragma once
// Who a request is, in logs and traces: x-request-id, and W3C's trace context (level 1, version
// 00), by which one trace spans clients, router and workers.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox::observe {

inline constexpr size_t kRequestIdBytesMax = 128;

/// The client's own id when it is fit for a log line and a header (printable ASCII without blanks,
/// at most kRequestIdBytesMax), a new one otherwise: "req-" and 32 hexadecimal digits.
std::string request_id(std::optional<std::string_view> given);

struct TraceContext {
  std::array<uint8_t, 16> trace{};  // not all zero
  std::array<uint8_t, 8> parent{};  // of the client's span; all zero: there is none
  std::array<uint8_t, 8> span{};    // of ours
  bool sampled = false;             // as whoever calls us says
  bool state_holds = false;         // the client's tracestate may go on

  bool has_parent() const { return parent != std::array<uint8_t, 8>{}; }
  /// The header for whom we call, in the name of our span `as`.
  std::string traceparent(const std::array<uint8_t, 8>& as, bool recorded) const;
  std::string traceparent(bool recorded) const { return traceparent(span, recorded); }
};

/// The trace that the client's `traceparent` names, or a new one where it has none or one that the
/// specification calls invalid: then nothing of it may go on, its tracestate neither. `count` is
/// how many such headers there are: more than one is invalid.
TraceContext trace_context(std::optional<std::string_view> traceparent, size_t count = 1);

std::array<uint8_t, 8> new_span_id();

/// Lower-case hexadecimal digits.
std::string hex(const uint8_t* bytes, size_t size);
template <size_t N>
std::string hex(const std::array<uint8_t, N>& bytes) {
  return hex(bytes.data(), N);
}

/// Whether a share of all traces holds this one: the same for everybody who asks with the same
/// share (0 to 1), as OpenTelemetry's TraceIdRatioBased wants it.
bool is_in_share(const std::array<uint8_t, 16>& trace, double share);

}  // namespace signalbox::observe
