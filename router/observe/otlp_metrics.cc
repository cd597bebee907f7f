// Field numbers come from metrics.proto. Every number is a double, as in /metrics, except those of
// buckets.

#include <array>
#include <bit>
#include <utility>

#include "base/protobuf.h"
#include "router/observe/otlp.h"
#include "router/observe/otlp_values.h"

namespace signalbox::observe {
namespace {

using protobuf::Writer;

/// Names of OpenTelemetry's conventions, which Prometheus cannot have. All other names are equal.
struct Convention {
  std::string_view here, there;
};
constexpr auto kConventions = std::to_array<Convention>({
    {"error_type", "error.type"},
    {"gen_ai_client_operation_duration_seconds", "gen_ai.client.operation.duration"},
    {"gen_ai_client_token_usage", "gen_ai.client.token.usage"},
    {"gen_ai_operation_name", "gen_ai.operation.name"},
    {"gen_ai_provider_name", "gen_ai.provider.name"},
    {"gen_ai_request_model", "gen_ai.request.model"},
    {"gen_ai_response_model", "gen_ai.response.model"},
    {"gen_ai_server_time_per_output_token_seconds", "gen_ai.server.time_per_output_token"},
    {"gen_ai_server_time_to_first_token_seconds", "gen_ai.server.time_to_first_token"},
    {"gen_ai_token_type", "gen_ai.token.type"},
});

std::string_view conventional(std::string_view name) {
  for (const auto& [here, there] : kConventions) {
    if (here == name) return there;
  }
  return name;
}

/// In the codes of UCUM. Counts have none, because a unit would become a part of the name in
/// Prometheus.
std::string_view unit_of(std::string_view name) {
  if (name == "gen_ai_client_token_usage") return "{token}";
  if (name.ends_with("_seconds") || name.ends_with("_seconds_total")) return "s";
  return name.ends_with("_bytes") ? "By" : "";
}

uint64_t nanoseconds_of(std::chrono::system_clock::time_point at) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

void append_fixed64(uint64_t value, std::string& out) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void add_labels(const FamilyBase& family, const Series& series, uint32_t field, Writer& out) {
  for (size_t i = 0; i < series.labels.size(); ++i) {
    if (series.labels[i].empty()) continue;
    out.message(field, otlp_attribute(conventional(family.labels()[i]), series.labels[i]));
  }
}

Writer number_point(const FamilyBase& family, const Series& series, const Collection& collection) {
  constexpr uint32_t kStart = 2, kTime = 3, kDouble = 4, kAttributes = 7;
  Writer out;
  add_labels(family, series, kAttributes, out);
  if (family.kind() == Kind::kCounter) out.fixed64(kStart, nanoseconds_of(collection.began));
  out.fixed64(kTime, nanoseconds_of(collection.at)).float64(kDouble, series.value);
  return out;
}

Writer histogram_point(const FamilyBase& family, const Series& series,
                       const Collection& collection) {
  constexpr uint32_t kStart = 2, kTime = 3, kCount = 4, kSum = 5, kBuckets = 6, kBounds = 7,
                     kAttributes = 9;
  uint64_t total = 0;
  std::string counts, bounds;  // packed
  for (const uint64_t count : series.counts) {
    total += count;
    append_fixed64(count, counts);
  }
  for (const double bound : series.bounds) append_fixed64(std::bit_cast<uint64_t>(bound), bounds);
  Writer out;
  add_labels(family, series, kAttributes, out);
  out.fixed64(kStart, nanoseconds_of(collection.began));
  out.fixed64(kTime, nanoseconds_of(collection.at));
  out.fixed64(kCount, total).float64(kSum, series.sum);
  out.bytes(kBuckets, counts).bytes(kBounds, bounds);
  return out;
}

/// A Metric with these points.
Writer metric_with(const FamilyBase& family, Writer points) {
  constexpr uint32_t kName = 1, kDescription = 2, kUnit = 3, kGauge = 5, kSum = 7, kHistogram = 9;
  constexpr uint32_t kTemporality = 2, kMonotonic = 3;
  constexpr uint64_t kCumulative = 2;
  Writer out;
  out.bytes(kName, conventional(family.name())).bytes(kDescription, family.help());
  out.bytes(kUnit, unit_of(family.name()));
  if (family.kind() != Kind::kGauge) points.varint(kTemporality, kCumulative);
  if (family.kind() == Kind::kCounter) points.varint(kMonotonic, 1);
  const uint32_t kind = family.kind() == Kind::kCounter ? kSum
                        : family.kind() == Kind::kGauge ? kGauge
                                                        : kHistogram;
  out.message(kind, points);
  return out;
}

/// Writes metrics into messages of bounded size. A family may continue in the next message.
class MetricMessages {
 public:
  MetricMessages(const Resource& resource, const Collection& collection, size_t bytes_max)
      : resource_(resource), collection_(collection), bytes_max_(bytes_max) {}

  void add(const Reading& reading) {
    constexpr uint32_t kPoints = 1;
    const FamilyBase& family = *reading.family;
    for (const Series& series : reading.series) {
      const Writer point = family.kind() == Kind::kHistogram
                               ? histogram_point(family, series, collection_)
                               : number_point(family, series, collection_);
      if (bytes_ > 0 && bytes_ + point.size() > bytes_max_) {
        end_metric(family);
        end_message();
      }
      points_.message(kPoints, point);
      bytes_ += point.size();
    }
    end_metric(family);
  }

  std::vector<std::string> take() {
    if (bytes_ > 0) end_message();
    return std::move(messages_);
  }

 private:
  void end_metric(const FamilyBase& family) {
    constexpr uint32_t kMetrics = 2;
    if (points_.empty()) return;
    metrics_.message(kMetrics, metric_with(family, std::exchange(points_, {})));
  }

  void end_message() {
    constexpr uint32_t kScope = 1, kResource = 1, kScopeMetrics = 2, kResourceMetrics = 1;
    Writer scope_metrics = std::exchange(metrics_, {});
    scope_metrics.message(kScope, otlp_scope());
    Writer resource_metrics, out;
    resource_metrics.message(kResource, otlp_resource(resource_));
    resource_metrics.message(kScopeMetrics, scope_metrics);
    out.message(kResourceMetrics, resource_metrics);
    messages_.push_back(std::move(out).take());
    bytes_ = 0;
  }

  const Resource& resource_;
  const Collection& collection_;
  const size_t bytes_max_;
  Writer points_, metrics_;  // of the present family; of the present message
  size_t bytes_ = 0;         // of the points of the present message
  std::vector<std::string> messages_;
};

}  // namespace

std::vector<std::string> otlp_requests(const Resource& resource, const Collection& collection,
                                       size_t bytes_max) {
  MetricMessages messages(resource, collection, bytes_max);
  for (const Reading& reading : collection.readings) messages.add(reading);
  return messages.take();
}

}  // namespace signalbox::observe
