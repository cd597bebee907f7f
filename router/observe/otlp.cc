// Field numbers come from trace.proto.

#include "router/observe/otlp.h"

#include <utility>

#include "base/protobuf.h"
#include "router/observe/otlp_values.h"
#include "router/observe/spans.h"

namespace signalbox::observe {
namespace {

using protobuf::Writer;

constexpr uint64_t kStatusError = 2;

template <size_t N>
std::string_view raw(const std::array<uint8_t, N>& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

Writer message_of(const TraceContext& trace, const Span& span) {
  constexpr uint32_t kTraceId = 1, kSpanId = 2, kParentSpanId = 4, kName = 5, kKind = 6, kStart = 7,
                     kEnd = 8, kAttributes = 9, kStatus = 15;
  Writer out;
  out.bytes(kTraceId, raw(trace.trace)).bytes(kSpanId, raw(span.id));
  if (span.parent != std::array<uint8_t, 8>{}) out.bytes(kParentSpanId, raw(span.parent));
  out.bytes(kName, span.name).varint(kKind, static_cast<uint64_t>(span.kind));
  out.fixed64(kStart, span.began_ns).fixed64(kEnd, span.ended_ns);
  for (const auto& [key, value] : span.attributes)
    out.message(kAttributes, otlp_attribute(key, value));
  if (!span.error.empty()) {
    constexpr uint32_t kMessage = 2, kCode = 3;
    out.message(kStatus, Writer().bytes(kMessage, span.error).varint(kCode, kStatusError));
  }
  return out;
}

}  // namespace

std::string otlp_request(const Resource& resource, std::span<const Account> accounts) {
  constexpr uint32_t kScope = 1, kSpans = 2;
  constexpr uint32_t kResource = 1, kScopeSpans = 2, kResourceSpans = 1;
  Writer scope_spans;
  scope_spans.message(kScope, otlp_scope());
  for (const Account& account : accounts) {
    for (const Span& span : spans_of(account))
      scope_spans.message(kSpans, message_of(account.trace, span));
  }
  Writer resource_spans, out;
  resource_spans.message(kResource, otlp_resource(resource)).message(kScopeSpans, scope_spans);
  out.message(kResourceSpans, resource_spans);
  return std::move(out).take();
}

}  // namespace signalbox::observe
