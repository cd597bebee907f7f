#pragma once
// Publishes finished requests as one configuration wants it: metrics, traces, replay and log.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/audit/log.h"
#include "router/http/message.h"
#include "router/observe/exporter.h"
#include "router/observe/meters.h"
#include "router/observe/metric_exporter.h"
#include "router/observe/replay.h"
#include "router/routing/router.h"
#include "router/spending/ledger.h"

namespace signalbox::gateway {

/// Thread-safe.
class Observer {
 public:
  /// How much of a request and its reply is kept for replay.
  struct Capture {
    size_t request_bytes = 0, response_bytes = 0;  // upper bounds
    std::chrono::seconds age_max{0};               // 0: as long as the record
  };

  /// All arguments outlive it. Before start() nothing is sent and no limit of `replay` changes.
  /// `ledger` is null if the configuration does not count spending; `audit` and `exporter` may be
  /// null. Errors: those of collector::sender().
  static Result<std::unique_ptr<Observer>> create(const routing::Router& router,
                                                  observe::Metrics& metrics,
                                                  observe::Replay& replay,
                                                  spending::Ledger* ledger = nullptr,
                                                  audit::Log* audit = nullptr,
                                                  observe::MetricExporter* exporter = nullptr);
  ~Observer();
  /// Called once when the configuration begins to serve, before its first request.
  void start();

  const observe::Meters& meters() const { return meters_; }
  /// True if the spending of requests is counted.
  bool counts_spending() const { return ledger_ != nullptr; }
  const std::vector<config::Model>& models() const { return config_.providers.models; }
  /// A configured model; null if there is none of that name.
  const config::Model* model(std::string_view name) const { return config_.providers.find(name); }
  /// The model that answers if no decision matches; null if none is configured.
  const config::Model* default_model() const { return default_model_; }
  /// True if spans of this trace are exported.
  bool samples(const observe::TraceContext& trace) const;
  /// Nullopt if requests of this decision (nullptr for none) are not kept for replay.
  std::optional<Capture> capture(const config::Decision* decision) const;

  /// Publishes a finished request. `sampled` is the result of samples().
  void publish(observe::Account&& account, bool sampled) const;
  /// Notes in the audit log that the request was refused, if it was.
  void note_refusal(const observe::Account& account, const http::Request& request) const;

  /// Publishes a finished shadow, whose account has nothing else. `sampled` is that of its request.
  void publish_shadow(observe::Account account, bool sampled) const;
  /// Counts a shadow that was not sent.
  void shadow_left_out(const std::string& decision, const std::string& model,
                       std::string_view why) const;

  /// Notices for the operator, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  Observer(const routing::Router& router, observe::Metrics& metrics, observe::Replay& replay,
           spending::Ledger* ledger, audit::Log* audit, observe::MetricExporter* exporter);

  const config::Config& config_;
  observe::Metrics& metrics_;
  observe::Replay& replay_;
  spending::Ledger* const ledger_;
  audit::Log* const audit_;
  observe::MetricExporter* const metric_exporter_;
  const observe::Meters meters_;
  const config::Model* const default_model_;
  const double share_;              // of all traces that are exported
  const bool may_keep_undecided_;   // records of requests without a decision
  observe::Send trace_collector_;   // null: no traces are exported
  observe::Send metric_collector_;  // null: no metrics are exported
  std::unique_ptr<observe::Exporter> exporter_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::gateway
