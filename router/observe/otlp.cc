// 64-bit integers are strings in it, ids are hexadecimal: the protocol's own deviations from
// protobuf's JSON.

#include "router/observe/otlp.h"

#include "base/json_writer.h"
#include "router/observe/spans.h"

namespace signalbox::observe {
namespace {

void write_value(json::Writer& out, const Span::Value& value) {
  out.begin_object();
  if (const auto* text = std::get_if<std::string>(&value)) out.member("stringValue", *text);
  if (const auto* number = std::get_if<int64_t>(&value))
    out.member("intValue", std::to_string(*number));
  if (const auto* number = std::get_if<double>(&value)) out.member("doubleValue", *number);
  if (const auto* truth = std::get_if<bool>(&value)) out.member("boolValue", *truth);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    out.key("arrayValue").begin_object().key("values").begin_array();
    for (const std::string& text : *texts)
      out.begin_object().member("stringValue", text).end_object();
    out.end_array().end_object();
  }
  out.end_object();
}

void write_attribute(json::Writer& out, std::string_view key, const Span::Value& value) {
  out.begin_object().member("key", key).key("value");
  write_value(out, value);
  out.end_object();
}

void write_span(json::Writer& out, const TraceContext& trace, const Span& span) {
  out.begin_object().member("traceId", hex(trace.trace)).member("spanId", hex(span.id));
  if (span.parent != std::array<uint8_t, 8>{}) out.member("parentSpanId", hex(span.parent));
  out.member("name", span.name).member("kind", static_cast<int32_t>(span.kind));
  out.member("startTimeUnixNano", std::to_string(span.began_ns));
  out.member("endTimeUnixNano", std::to_string(span.ended_ns));
  out.key("attributes").begin_array();
  for (const auto& [key, value] : span.attributes) write_attribute(out, key, value);
  out.end_array();
  if (!span.error.empty()) {
    constexpr int32_t kStatusError = 2;
    out.key("status").begin_object().member("code", kStatusError).member("message", span.error);
    out.end_object();
  }
  out.end_object();
}

void write_resource(json::Writer& out, const Resource& resource) {
  const std::pair<std::string_view, const std::string&> all[] = {
      {"service.name", resource.service_name},
      {"service.version", resource.service_version},
      {"deployment.environment", resource.deployment_environment},
  };
  out.begin_object().key("attributes").begin_array();
  for (const auto& [key, value] : all) {
    if (!value.empty()) write_attribute(out, key, value);
  }
  out.end_array().end_object();
}

}  // namespace

std::string otlp_json(const Resource& resource, std::span<const Account> accounts) {
  json::Writer out;
  out.begin_object().key("resourceSpans").begin_array().begin_object().key("resource");
  write_resource(out, resource);
  out.key("scopeSpans").begin_array().begin_object();
  out.key("scope").begin_object().member("name", "signalbox").end_object();
  out.key("spans").begin_array();
  for (const Account& account : accounts) {
    for (const Span& span : spans_of(account)) write_span(out, account.trace, span);
  }
  out.end_array().end_object().end_array().end_object().end_array().end_object();
  return out.take();
}

}  // namespace signalbox::observe
