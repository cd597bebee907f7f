// A sender is copied into a std::function, so its connection is shared by the copies; only the
// exporter's thread uses it.

#include "router/collector/collector.h"

#include <memory>
#include <optional>
#include <utility>

#include "router/config/endpoint.h"
#include "router/http/stream.h"
#include "router/observe/otlp.h"
#include "router/rpc/client.h"
#include "router/upstream/poster.h"

namespace signalbox::collector {
namespace {

using observe::Delivery;
using observe::Send;

constexpr std::chrono::milliseconds kExportLimit{5'000};
constexpr size_t kReplyBytesMax = 64 << 10;

/// The traces or the metrics, with the keys that their messages name.
struct Exports {
  std::string_view name, key;
  observe::OtlpService service;
};
constexpr Exports kTraces{"traces", "global.services.observability.tracing.exporter",
                          observe::kOtlpTraces};
constexpr Exports kMetrics{"metrics", "global.services.observability.metrics.exporter",
                           observe::kOtlpMetrics};

/// The port of OTLP over gRPC, which files for the vLLM Semantic Router name.
constexpr uint16_t kGrpcPort = 4317;

Send over_http(const Exports& exports, const config::Observability::Exporter& exporter,
               const config::Endpoint& to) {
  const std::string path(exports.service.path);
  config::BackendRef ref;
  ref.name = exports.name;
  ref.host = to.host;
  ref.port = to.port;
  ref.tls = to.tls;
  ref.tls_ca_path = exporter.tls_ca_path;
  ref.extra_headers = exporter.headers;
  ref.path_prefix =
      to.path.ends_with(path) ? to.path.substr(0, to.path.size() - path.size()) : to.path;
  auto poster = std::make_shared<upstream::Poster>(ref, kExportLimit);
  return [poster, path](const std::string& body) -> Delivery {
    const auto reply = poster->post(path, observe::kOtlpType, body, kExportLimit, kReplyBytesMax);
    if (!reply) return observe::not_delivered(reply.error().message);
    return observe::delivery_over_http(
        reply->status, reply->headers.find("Retry-After").value_or(""), reply->body);
  };
}

Result<Send> over_grpc(const Exports& exports, const config::Observability::Exporter& exporter,
                       const config::Endpoint& to) {
  SIGNALBOX_TRY(auto made, rpc::Client::create({.host = to.host,
                                                .port = to.port,
                                                .tls = to.tls,
                                                .tls_ca_path = exporter.tls_ca_path,
                                                .metadata = exporter.headers}));
  const std::shared_ptr<rpc::Client> client = std::move(made);
  const std::string method(exports.service.method);
  return [client, method](const std::string& body) -> Delivery {
    const rpc::Reply reply = client->call(method, body, kExportLimit);
    return observe::delivery_over_grpc(reply.status, reply.message, reply.details, reply.body);
  };
}

Result<Send> sender_of(const Exports& exports, const config::Observability::Exporter& exporter,
                       std::vector<std::string>& notices) {
  if (exporter.endpoint.empty()) return Send();
  const auto note = [&](std::string_view what) {
    notices.push_back(fmt::format("{}.{}", exports.key, what));
  };
  const auto none = [&](std::string_view why) {
    note(fmt::format("{}; no {} are sent", why, exports.name));
    return Send();
  };
  if (!exporter.type.empty() && exporter.type != "otlp")
    return none(fmt::format("type: \"{}\" is not built", exporter.type));
  const bool url = exporter.endpoint.find("://") != std::string::npos;
  const auto to = url ? config::parse_base_url(exporter.endpoint)
                      : config::parse_endpoint(exporter.endpoint, !exporter.insecure);
  if (!to) return none(fmt::format("endpoint: {}", to.error().message));
  const bool grpc = exporter.protocol.empty() ? to->port == kGrpcPort && to->path.empty()
                                              : exporter.protocol == "grpc";
  if (grpc && !to->path.empty())
    return none(fmt::format("endpoint: gRPC has no path, found \"{}\"", to->path));
  if (to->tls && exporter.insecure)
    note("insecure: has no effect; the endpoint's scheme \"https\" means TLS");
  if (!to->tls && !exporter.tls_ca_path.empty())
    note(fmt::format("tls_ca_path: has no effect; {} are sent without TLS", exports.name));
  if (to->tls && !exporter.tls_ca_path.empty()) {
    const auto trusted = http::Tls::for_client(exporter.tls_ca_path, true);
    if (!trusted) return fail_in(fmt::format("{}.tls_ca_path", exports.key), trusted.error());
  }
  if (!grpc) return over_http(exports, exporter, *to);
  auto send = over_grpc(exports, exporter, *to);
  if (!send) return fail_in(fmt::format("{}.endpoint", exports.key), std::move(send).error());
  return send;
}

}  // namespace

Result<Send> sender(const config::Observability::Tracing& tracing,
                    std::vector<std::string>& notices) {
  return tracing.enabled ? sender_of(kTraces, tracing.exporter, notices) : Send();
}

Result<Send> sender(const config::Observability::Metrics& metrics,
                    std::vector<std::string>& notices) {
  return metrics.enabled ? sender_of(kMetrics, metrics.exporter, notices) : Send();
}

}  // namespace signalbox::collector
