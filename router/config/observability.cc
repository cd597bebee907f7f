// `global.services.observability`: traces and metrics.

#include "router/config/service_tables.h"

namespace signalbox::config {
namespace {

const Section<Observability::Exporter>& exporter_section() {
  using E = Observability::Exporter;
  static const Section<E> section{{
      optional("type", string(&E::type), "otlp"),
      optional("endpoint", string(&E::endpoint), "host:port of the collector, which speaks HTTP"),
      optional("insecure", boolean(&E::insecure), "without TLS"),
  }};
  return section;
}

const Section<Observability::Sampling>& sampling_section() {
  using S = Observability::Sampling;
  static const Section<S> section{{
      optional("type", string(&S::type), "always_on, always_off or probabilistic"),
      optional("rate", share(&S::rate), "of probabilistic"),
  }};
  return section;
}

const Section<Observability::Resource>& resource_section() {
  using R = Observability::Resource;
  static const Section<R> section{{
      optional("service_name", string(&R::service_name), "in every trace"),
      optional("service_version", string(&R::service_version), "in every trace"),
      optional("deployment_environment", string(&R::deployment_environment), "in every trace"),
  }};
  return section;
}

const Section<Observability::Tracing>& tracing_section() {
  using T = Observability::Tracing;
  static const Section<T> section{{
      optional("enabled", boolean(&T::enabled), "send traces"),
      optional("provider", string(&T::provider), "opentelemetry"),
      optional("exporter", object(&T::exporter, exporter_section), "where to"),
      optional("sampling", object(&T::sampling, sampling_section), "which"),
      optional("resource", object(&T::resource, resource_section), "who sends them"),
  }};
  return section;
}

const Section<Observability::WindowedMetrics>& windowed_section() {
  using W = Observability::WindowedMetrics;
  static const Section<W> section{{
      optional("enabled", boolean(&W::enabled), "rates over times past"),
      optional("time_windows", texts(&W::time_windows), "such as 1m, 5m and 1h"),
      optional("update_interval", duration(&W::update_interval), "how often"),
      optional("model_metrics", boolean(&W::model_metrics), "for each model"),
      optional("queue_depth_estimation", boolean(&W::queue_depth_estimation), "of each model"),
      optional("max_models", count(&W::max_models), "that are counted"),
  }};
  return section;
}

const Section<Observability::Metrics>& metrics_section() {
  using M = Observability::Metrics;
  static const Section<M> section{{
      optional("enabled", boolean(&M::enabled), "count, and show it under /metrics"),
      optional("bind_address", text(&M::bind_address), "interface of the metrics' own port"),
      optional("port", integer(&M::port, 0, 65535),
               "the metrics' own port; without it the management port shows them"),
      optional("windowed_metrics", object(&M::windowed_metrics, windowed_section),
               "rates over times past")
          .not_built("who reads /metrics computes rates over any time"),
  }};
  return section;
}

}  // namespace

const Section<Observability>& observability_section() {
  using O = Observability;
  static const Section<O> section{{
      optional("tracing", object(&O::tracing, tracing_section), "what happened to each request"),
      optional("metrics", object(&O::metrics, metrics_section), "what happens to all of them"),
  }};
  return section;
}

}  // namespace signalbox::config
