// Each thread has a random generator of its own: ids must be unique, not secret.

#include "router/observe/trace_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace signalbox::observe {
namespace {

uint64_t random_bits() {
  thread_local std::mt19937_64 random{(uint64_t{std::random_device{}()} << 32) |
                                      std::random_device{}()};
  return random();
}

template <size_t N>
std::array<uint8_t, N> new_id() {
  std::array<uint8_t, N> out{};
  do {
    for (size_t at = 0; at < N; at += 8) {
      const uint64_t bits = random_bits();
      std::memcpy(&out[at], &bits, 8);
    }
  } while (out == std::array<uint8_t, N>{});
  return out;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;  // upper case is invalid
}

bool read_hex(std::string_view text, uint8_t* out) {
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    *out++ = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
constexpr size_t kTraceAt = 3, kParentAt = 36, kFlagsAt = 53, kSize = 55;

/// Later versions may append fields, which are ignored.
bool read(std::string_view text, TraceContext& out) {
  if (text.size() < kSize) return false;
  uint8_t version = 0, flags = 0;
  if (!read_hex(text.substr(0, 2), &version) || version == 0xFF) return false;
  if (version == 0 && text.size() != kSize) return false;
  if (text.size() > kSize && text[kSize] != '-') return false;
  if (text[kTraceAt - 1] != '-' || text[kParentAt - 1] != '-' || text[kFlagsAt - 1] != '-')
    return false;
  if (!read_hex(text.substr(kTraceAt, 32), out.trace.data()) ||
      !read_hex(text.substr(kParentAt, 16), out.parent.data()) ||
      !read_hex(text.substr(kFlagsAt, 2), &flags))
    return false;
  out.sampled = (flags & 1) != 0;
  return out.trace != std::array<uint8_t, 16>{} && out.has_parent();
}

}  // namespace

std::string hex(const uint8_t* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(2 * size, '0');
  for (size_t i = 0; i < size; ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
}

std::string request_id(std::optional<std::string_view> given) {
  const auto invalid = [](char c) { return c <= ' ' || c > '~'; };
  if (given && !given->empty() && given->size() <= kRequestIdBytesMax &&
      std::none_of(given->begin(), given->end(), invalid)) {
    return std::string(*given);
  }
  return "req-" + hex(new_id<16>());
}

std::array<uint8_t, 8> new_span_id() {
  return new_id<8>();
}

std::string random_uuid() {
  auto id = new_id<16>();
  id[6] = static_cast<uint8_t>((id[6] & 0x0F) | 0x40);  // version 4
  id[8] = static_cast<uint8_t>((id[8] & 0x3F) | 0x80);  // the variant of RFC 9562
  std::string out = hex(id);
  for (const size_t at : {20, 16, 12, 8}) out.insert(at, 1, '-');
  return out;
}

TraceContext trace_context(std::optional<std::string_view> traceparent, size_t count) {
  TraceContext out;
  if (traceparent && count == 1 && read(*traceparent, out)) {
    out.state_holds = true;
  } else {
    out = {};
    out.trace = new_id<16>();
  }
  out.span = new_span_id();
  return out;
}

std::string TraceContext::traceparent(const std::array<uint8_t, 8>& as, bool recorded) const {
  std::string out;
  out.reserve(kSize);
  out.append("00-").append(hex(trace)).append("-").append(hex(as));
  out.append(sampled || recorded ? "-01" : "-00");
  return out;
}

bool is_in_share(const std::array<uint8_t, 16>& trace, double share) {
  if (share >= 1) return true;
  if (!(share > 0)) return false;
  uint64_t bits = 0;  // the last eight bytes, which are random in every format
  for (size_t i = 8; i < 16; ++i) bits = bits << 8 | trace[i];
  return static_cast<double>(bits >> 1) < share * 0x1p63;
}

}  // namespace signalbox::observe
