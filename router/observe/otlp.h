#pragma once
// OTLP's trace export as protobuf, for HTTP and gRPC alike (OpenTelemetry protocol 1.0,
// opentelemetry/proto/collector/trace/v1). The specification requires every collector to accept
// this encoding, while JSON is optional. It takes only six messages, so no code is generated.

#include <span>
#include <string>
#include <string_view>

#include "router/observe/account.h"

namespace signalbox::observe {

/// Identifies the sender in every export; "" omits a field.
struct Resource {
  std::string service_name = "signalbox";
  std::string service_version;
  std::string deployment_environment;
};

inline constexpr std::string_view kOtlpPath = "/v1/traces";
inline constexpr std::string_view kOtlpType = "application/x-protobuf";
inline constexpr std::string_view kOtlpMethod =
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// Returns an ExportTraceServiceRequest with the spans of these requests.
std::string otlp_request(const Resource& resource, std::span<const Account> accounts);

}  // namespace signalbox::observe
