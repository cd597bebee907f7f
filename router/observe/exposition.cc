// The adapter to prometheus-cpp's core. Its types stay in this file.

#include "router/observe/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>

namespace signalbox::observe {
namespace {

prometheus::ClientMetric metric_of(const FamilyBase& family, const Series& series) {
  prometheus::ClientMetric out;
  for (size_t i = 0; i < series.labels.size(); ++i) {
    out.label.push_back({std::string(family.labels()[i]), series.labels[i]});
  }
  if (family.kind() == Kind::kCounter) out.counter.value = series.value;
  if (family.kind() == Kind::kGauge) out.gauge.value = series.value;
  if (family.kind() != Kind::kHistogram) return out;
  auto& histogram = out.histogram;
  for (size_t i = 0; i < series.counts.size(); ++i) {
    histogram.sample_count += series.counts[i];
    const bool last = i == series.bounds.size();
    histogram.bucket.push_back({histogram.sample_count,
                                last ? std::numeric_limits<double>::infinity() : series.bounds[i]});
  }
  histogram.sample_sum = series.sum;
  return out;
}

prometheus::MetricType type_of(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return prometheus::MetricType::Counter;
    case Kind::kGauge:
      return prometheus::MetricType::Gauge;
    case Kind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

std::string expose(std::span<const Reading> readings) {
  std::vector<prometheus::MetricFamily> all;
  for (const auto& [family, series_of] : readings) {
    prometheus::MetricFamily out;
    out.name = family->name();
    out.help = family->help();
    out.type = type_of(family->kind());
    for (const Series& series : series_of) out.metric.push_back(metric_of(*family, series));
    all.push_back(std::move(out));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace signalbox::observe
