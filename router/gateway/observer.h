#pragma once
// Who is told of requests, as one configuration wants it: metrics, traces, the record for replay,
// the log.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/observe/exporter.h"
#include "router/observe/meters.h"
#include "router/observe/replay.h"
#include "router/routing/router.h"

namespace signalbox::gateway {

/// Thread-safe.
class Observer {
 public:
  /// What of a request and its reply is kept for replay.
  struct Capture {
    size_t request_bytes = 0, response_bytes = 0;  // at most
  };

  /// All outlive it. Nothing is sent, and no limit of `replay` changes, before start().
  Observer(const routing::Router& router, observe::Metrics& metrics, observe::Replay& replay);
  ~Observer();
  /// The configuration serves from now on. Once, before requests come.
  void start();

  const observe::Meters& meters() const { return meters_; }
  /// Which would answer if nothing were decided; null: none is configured.
  const config::Model* default_model() const { return default_model_; }
  /// Whether spans of this trace are sent.
  bool samples(const observe::TraceContext& trace) const;
  /// Nothing: requests of this decision (nullptr: of none) are not recorded.
  std::optional<Capture> capture(const config::Decision* decision) const;

  /// A request has ended. `sampled` as samples() said.
  void tell(observe::Account account, bool sampled) const;

  /// What an operator should know, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  void plan_exporter(const config::Observability::Tracing& tracing);

  const config::Config& config_;
  observe::Metrics& metrics_;
  observe::Replay& replay_;
  const observe::Meters meters_;
  const config::Model* const default_model_;
  double share_ = 0;              // of all traces
  config::BackendRef collector_;  // without a host: none
  std::unique_ptr<observe::Exporter> exporter_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::gateway
