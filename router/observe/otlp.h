#pragma once
// OTLP's trace export as protobuf over HTTP (OpenTelemetry protocol 1.0, opentelemetry/proto/
// collector/trace/v1), the encoding that the specification asks of every collector; its JSON is
// left to their choice. Six messages, so nothing generated.

#include <span>
#include <string>
#include <string_view>

#include "router/observe/account.h"

namespace signalbox::observe {

/// Who sends, in every export; "" leaves one out.
struct Resource {
  std::string service_name = "signalbox";
  std::string service_version;
  std::string deployment_environment;
};

inline constexpr std::string_view kOtlpPath = "/v1/traces";
inline constexpr std::string_view kOtlpType = "application/x-protobuf";

/// An ExportTraceServiceRequest with the spans of these requests.
std::string otlp_request(const Resource& resource, std::span<const Account> accounts);

}  // namespace signalbox::observe
