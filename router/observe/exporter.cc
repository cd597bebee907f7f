// The queue holds whole batches, so that the exporter takes one by a swap of two pointers: a
// request never waits for encoding.

#include "router/observe/exporter.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace signalbox::observe {

using std::chrono::milliseconds;

Exporter::Exporter(Send send, Resource resource, ExportCounters counters, ExporterOptions options)
    : send_(std::move(send)),
      resource_(std::move(resource)),
      options_(options),
      exported_(counters.results.with({"exported"})),
      dropped_(counters.results.with({"dropped"})),
      failed_(counters.results.with({"failed"})),
      retries_(counters.retries.only()),
      rejected_(counters.rejected.only()) {
  thread_ = std::thread([this] { run(); });
}

Exporter::~Exporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Exporter::add(Account account) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (queued_ >= options_.queue_max) {
      dropped_.add();
      return false;
    }
    if (queue_.empty() || queue_.back().size() >= options_.batch_max) queue_.emplace_back();
    queue_.back().push_back(std::move(account));
    // Until the queue holds a batch, the thread wakes by itself.
    wakes = ++queued_ == options_.batch_max;
  }
  if (wakes) wake_.notify_one();
  return true;
}

// Returns the oldest batch; an empty one means that nothing is left and the thread ends.
std::vector<Account> Exporter::take() {
  std::unique_lock lock(mutex_);
  do {
    wake_.wait_for(lock, options_.period,
                   [this] { return stopping_ || queued_ >= options_.batch_max; });
  } while (queue_.empty() && !stopping_);
  if (queue_.empty()) return {};
  std::vector<Account> out = std::move(queue_.front());
  queue_.pop_front();
  queued_ -= out.size();
  return out;
}

void Exporter::run() {
  for (std::vector<Account> batch = take(); !batch.empty(); batch = take()) {
    const bool sent = deliver(batch);
    const std::lock_guard lock(mutex_);
    if (sent || !stopping_) continue;
    dropped_.add(static_cast<double>(queued_));
    return;
  }
}

/// Returns false if the batch was given up without a reply that accepts or refuses it.
bool Exporter::deliver(const std::vector<Account>& batch) {
  const std::string body = otlp_request(resource_, batch);
  const auto size = static_cast<double>(batch.size());
  const auto until = std::chrono::steady_clock::now() + options_.keep;
  for (milliseconds pause = options_.pause;; pause = std::min(2 * pause, options_.pause_max)) {
    const Delivery delivery = send_(body);
    report(delivery);
    if (delivery.outcome == Delivery::Outcome::kAccepted) {
      exported_.add(size);
      rejected_.add(static_cast<double>(delivery.rejected_spans));
      return true;
    }
    const bool again =
        delivery.outcome == Delivery::Outcome::kAgain && std::chrono::steady_clock::now() < until;
    if (again) retries_.add();
    if (again && wait_before_retry(pause, delivery)) continue;
    failed_.add(size);
    return delivery.outcome == Delivery::Outcome::kRefused;
  }
}

/// Returns false if the exporter is to stop.
bool Exporter::wait_before_retry(milliseconds pause, const Delivery& failed) {
  // Routers that lost their collector together must not come back together.
  std::uniform_real_distribution<double> share(0.5, 1.5);
  const milliseconds spread(
      static_cast<milliseconds::rep>(static_cast<double>(pause.count()) * share(random_)));
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::max(spread, failed.pause), [this] { return stopping_; });
}

// Logs only the first failure of an outage; repeating it every second would help nobody.
void Exporter::report(const Delivery& delivery) {
  const bool accepted = delivery.outcome == Delivery::Outcome::kAccepted;
  if (!accepted && !failure_logged_) {
    log::warn("traces", "traces cannot be sent and are {}: {}",
              delivery.outcome == Delivery::Outcome::kAgain ? "kept for a while" : "dropped",
              delivery.message);
  }
  if (accepted && failure_logged_) log::info("traces", "traces are sent again");
  failure_logged_ = !accepted;
  if (!accepted) return;
  // A message without rejected spans is a warning of the collector.
  const bool rejects = delivery.rejected_spans > 0 || !delivery.message.empty();
  if (rejects && !rejection_logged_) {
    log::warn("traces", "the collector did not take {} spans of an export: {}",
              delivery.rejected_spans, delivery.message);
  }
  rejection_logged_ = rejects;
}

}  // namespace signalbox::observe
