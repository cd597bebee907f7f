// The time of an export is that of its collection, however long its delivery takes.

#include "router/observe/metric_exporter.h"

#include <algorithm>
#include <utility>

namespace signalbox::observe {

MetricExporter::MetricExporter(Collect collect, ExportCounters counters, RetryOptions retry)
    : collect_(std::move(collect)),
      retry_(retry),
      failed_(counters.results.with({"failed"})),
      courier_({"metrics", "data points"}, counters) {}

void MetricExporter::set_target(MetricTarget target) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (target.send != nullptr && !thread_.joinable()) thread_ = std::thread([this] { run(); });
    std::swap(target_, target);
  }
  wake_.notify_all();
}

void MetricExporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MetricExporter::run() {
  Clock::time_point last = Clock::now();
  for (bool ends = false; !ends;) {
    MetricTarget target;
    ends = wait_until_due(last, target);
    last = Clock::now();
    if (target.send != nullptr) send_all(target);
  }
}

/// Returns true if the exporter is to stop. `last` is the time of the export before.
bool MetricExporter::wait_until_due(Clock::time_point& last, MetricTarget& out) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (target_.send == nullptr) {
      wake_.wait(lock);
      last = Clock::now();
    } else if (Clock::now() < last + target_.interval) {
      wake_.wait_until(lock, last + target_.interval);
    } else {
      break;
    }
  }
  out = target_;
  return stopping_;
}

void MetricExporter::send_all(const MetricTarget& target) {
  RetryOptions retry = retry_;
  retry.keep = std::min(retry.keep, target.interval);
  bool given_up = false;
  for (const std::string& body : otlp_requests(target.resource, collect_())) {
    if (given_up) {
      failed_.add();
      continue;
    }
    const auto outcome =
        courier_.deliver(target.send, body, 1, retry,
                         [this](std::chrono::milliseconds pause) { return wait(pause); });
    given_up = outcome == Courier::Outcome::kGivenUp;
  }
}

/// Returns false if the exporter is to stop.
bool MetricExporter::wait(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return stopping_; });
}

}  // namespace signalbox::observe
