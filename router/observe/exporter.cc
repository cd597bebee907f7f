// The queue holds whole batches, so that the exporter takes one by a swap of two pointers: a
// request never waits for encoding.

#include "router/observe/exporter.h"

#include <utility>

namespace signalbox::observe {

Exporter::Exporter(Send send, Resource resource, ExportCounters counters, ExporterOptions options)
    : send_(std::move(send)),
      resource_(std::move(resource)),
      options_(options),
      dropped_(counters.results.with({"dropped"})),
      courier_({"traces", "spans"}, counters) {
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
    // Wake the thread for a full batch only; before that, its own timer wakes it.
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
  const auto outcome = courier_.deliver(
      send_, otlp_request(resource_, batch), static_cast<double>(batch.size()), options_.retry,
      [this](std::chrono::milliseconds pause) { return wait(pause); });
  return outcome != Courier::Outcome::kGivenUp;
}

/// Returns false if the exporter is to stop.
bool Exporter::wait(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return stopping_; });
}

}  // namespace signalbox::observe
