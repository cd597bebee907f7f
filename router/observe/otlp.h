#pragma once
// OTLP's exports as protobuf, for HTTP and gRPC alike (OpenTelemetry protocol 1.0,
// opentelemetry/proto/collector/{trace,metrics}/v1). The specification requires every collector to
// accept this encoding, while JSON is optional. It takes only a dozen messages, so no code is
// generated.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/observe/account.h"
#include "router/observe/metrics.h"

namespace signalbox::observe {

/// Identifies the sender in every export; "" omits a field.
struct Resource {
  std::string service_name = "signalbox";
  std::string service_version;
  std::string deployment_environment;
  std::string service_instance;  // keeps the series of several routers apart
};

/// The place at which a collector accepts a kind of exports.
struct OtlpService {
  std::string_view path;    // over HTTP
  std::string_view method;  // over gRPC
};
inline constexpr std::string_view kOtlpType = "application/x-protobuf";
inline constexpr OtlpService kOtlpTraces{
    "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"};
inline constexpr OtlpService kOtlpMetrics{
    "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"};

/// Returns an ExportTraceServiceRequest with the spans of these requests.
std::string otlp_request(const Resource& resource, std::span<const Account> accounts);

/// The most bytes of data points in one message. Collectors take 4 MB over gRPC by default.
inline constexpr size_t kOtlpPointsBytesMax = 2 << 20;

/// Returns ExportMetricsServiceRequests that have every number of the collection once. A label
/// without a value is left out, which means the same to Prometheus.
std::vector<std::string> otlp_requests(const Resource& resource, const Collection& collection,
                                       size_t bytes_max = kOtlpPointsBytesMax);

}  // namespace signalbox::observe
