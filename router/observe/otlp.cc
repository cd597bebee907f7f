// Field numbers come from trace.proto, resource.proto and common.proto.

#include "router/observe/otlp.h"

#include <utility>

#include "base/protobuf.h"
#include "router/observe/spans.h"

namespace signalbox::observe {
namespace {

using protobuf::Writer;

constexpr uint64_t kStatusError = 2;

template <size_t N>
std::string_view raw(const std::array<uint8_t, N>& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

Writer any_value(const Span::Value& value) {
  constexpr uint32_t kString = 1, kBool = 2, kInt = 3, kDouble = 4, kArray = 5;
  Writer out;
  if (const auto* text = std::get_if<std::string>(&value)) out.bytes(kString, *text);
  if (const auto* truth = std::get_if<bool>(&value)) out.varint(kBool, *truth ? 1 : 0);
  if (const auto* number = std::get_if<int64_t>(&value))
    out.varint(kInt, static_cast<uint64_t>(*number));
  if (const auto* number = std::get_if<double>(&value)) out.float64(kDouble, *number);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    constexpr uint32_t kValues = 1;
    Writer array;
    for (const std::string& text : *texts) array.message(kValues, Writer().bytes(kString, text));
    out.message(kArray, array);
  }
  return out;
}

Writer key_value(std::string_view key, const Span::Value& value) {
  constexpr uint32_t kKey = 1, kValue = 2;
  Writer out;
  out.bytes(kKey, key).message(kValue, any_value(value));
  return out;
}

Writer message_of(const TraceContext& trace, const Span& span) {
  constexpr uint32_t kTraceId = 1, kSpanId = 2, kParentSpanId = 4, kName = 5, kKind = 6, kStart = 7,
                     kEnd = 8, kAttributes = 9, kStatus = 15;
  Writer out;
  out.bytes(kTraceId, raw(trace.trace)).bytes(kSpanId, raw(span.id));
  if (span.parent != std::array<uint8_t, 8>{}) out.bytes(kParentSpanId, raw(span.parent));
  out.bytes(kName, span.name).varint(kKind, static_cast<uint64_t>(span.kind));
  out.fixed64(kStart, span.began_ns).fixed64(kEnd, span.ended_ns);
  for (const auto& [key, value] : span.attributes) out.message(kAttributes, key_value(key, value));
  if (!span.error.empty()) {
    constexpr uint32_t kMessage = 2, kCode = 3;
    out.message(kStatus, Writer().bytes(kMessage, span.error).varint(kCode, kStatusError));
  }
  return out;
}

Writer message_of(const Resource& resource) {
  constexpr uint32_t kAttributes = 1;
  const std::pair<std::string_view, const std::string&> all[] = {
      {"service.name", resource.service_name},
      {"service.version", resource.service_version},
      {"deployment.environment", resource.deployment_environment},
  };
  Writer out;
  for (const auto& [key, value] : all) {
    if (!value.empty()) out.message(kAttributes, key_value(key, value));
  }
  return out;
}

}  // namespace

std::string otlp_request(const Resource& resource, std::span<const Account> accounts) {
  constexpr uint32_t kScope = 1, kSpans = 2, kScopeName = 1;
  constexpr uint32_t kResource = 1, kScopeSpans = 2, kResourceSpans = 1;
  Writer scope_spans;
  scope_spans.message(kScope, Writer().bytes(kScopeName, "signalbox"));
  for (const Account& account : accounts) {
    for (const Span& span : spans_of(account))
      scope_spans.message(kSpans, message_of(account.trace, span));
  }
  Writer resource_spans, out;
  resource_spans.message(kResource, message_of(resource)).message(kScopeSpans, scope_spans);
  out.message(kResourceSpans, resource_spans);
  return std::move(out).take();
}

}  // namespace signalbox::observe
