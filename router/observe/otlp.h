#pragma once
// OTLP's trace export in its JSON encoding (OpenTelemetry protocol 1.0, opentelemetry/proto/
// collector/trace/v1): the specification makes servers take it beside protobuf at the same path,
// and it needs no generated code.

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

/// An ExportTraceServiceRequest with the spans of these requests.
std::string otlp_json(const Resource& resource, std::span<const Account> accounts);

}  // namespace signalbox::observe
