// The time of an export is that of its collection, however long its delivery takes.

#include "router/observe/metric_exporter.h"

#include <algorithm>
#include <utility>

namespace signalbox::observe {

using std::chrono::milliseconds;

MetricExporter::MetricExporter(Collect collect, ExportCounters counters, RetryOptions retry,
                               milliseconds end_max)
    : collect_(std::move(collect)),
      retry_(retry),
      end_max_(end_max),
      failed_(counters.results.with({"failed"})),
      courier_({"metrics", "data points"}, counters) {}

bool MetricExporter::set_target(MetricTarget target) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    if (target.send != nullptr && !thread_.joinable()) thread_ = std::thread([this] { run(); });
    std::swap(target_, target);
    has_new_target_ = true;
  }
  wake_.notify_all();
  return true;
}

void MetricExporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) end_ = attempt_began_.value_or(Clock::now()) + end_max_;
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MetricExporter::run() {
  last_ = Clock::now();
  for (bool ends = false; !ends;) {
    MetricTarget target;
    ends = wait_until_due(target);
    last_ = Clock::now();
    if (target.send != nullptr) send_all(target, ends);
  }
}

/// Returns true if the exporter is to stop.
bool MetricExporter::wait_until_due(MetricTarget& out) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (std::exchange(has_new_target_, false)) {
      courier_.begin_anew();
      not_before_ = {};
    }
    const Clock::time_point due = std::max(last_ + target_.interval, not_before_);
    if (target_.send == nullptr) {
      wake_.wait(lock);
      last_ = Clock::now();
    } else if (Clock::now() < due) {
      wake_.wait_until(lock, due);
    } else {
      break;
    }
  }
  out = target_;
  return stopping_;
}

void MetricExporter::send_all(const MetricTarget& target, bool ends) {
  RetryOptions retry = retry_;
  retry.keep = std::min(retry.keep, target.interval);
  const Send send = [&](const std::string& body) { return attempt(target.send, body); };
  const Courier::Wait wait_for = [&](milliseconds pause) { return wait(pause, target.interval); };
  bool given_up = false;
  for (const std::string& body : otlp_requests(target.resource, collect_())) {
    if (!may_begin(ends)) return;
    if (given_up) {
      failed_.add();
      continue;
    }
    given_up = courier_.deliver(send, body, 1, retry, wait_for) == Courier::Outcome::kGivenUp;
  }
}

/// Once the exporter is to stop, only the last figures are sent, and only within `end_max`.
bool MetricExporter::may_begin(bool ends) {
  const std::lock_guard lock(mutex_);
  return !stopping_ || (ends && Clock::now() < end_);
}

Delivery MetricExporter::attempt(const Send& send, const std::string& body) {
  const auto note = [this](std::optional<Clock::time_point> began) {
    const std::lock_guard lock(mutex_);
    attempt_began_ = began;
  };
  note(Clock::now());
  Delivery out = send(body);
  note(std::nullopt);
  not_before_ = Clock::now() + out.pause;
  return out;
}

/// Returns false if the exporter is to stop, has a new target or has newer figures to send.
bool MetricExporter::wait(milliseconds pause, milliseconds interval) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, pause, [this] { return stopping_ || has_new_target_; });
  return !stopping_ && !has_new_target_ && Clock::now() < last_ + interval;
}

}  // namespace signalbox::observe
