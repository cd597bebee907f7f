// The exporter takes the whole queue at once: a request waits for a swap of two pointers, never for
// encoding.

#include "router/observe/exporter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace signalbox::observe {

Exporter::Exporter(Send send, Resource resource, Family<Counter>& results, ExporterOptions options)
    : send_(std::move(send)),
      resource_(std::move(resource)),
      options_(options),
      exported_(results.with({"exported"})),
      dropped_(results.with({"dropped"})),
      failed_(results.with({"failed"})) {
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
  bool full = false;
  size_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    full = queue_.size() >= options_.queue_max;
    if (!full) queue_.push_back(std::move(account));
    size = queue_.size();
  }
  if (full) dropped_.add();
  // Until the queue holds a batch, the thread wakes by itself.
  if (size == options_.batch_max) wake_.notify_one();
  return !full;
}

void Exporter::run() {
  for (bool healthy = true, stopping = false; !stopping;) {
    std::vector<Account> taken;
    {
      std::unique_lock lock(mutex_);
      if (healthy) {
        wake_.wait_for(lock, options_.period,
                       [this] { return stopping_ || queue_.size() >= options_.batch_max; });
      } else {
        wake_.wait_for(lock, options_.pause, [this] { return stopping_; });
      }
      stopping = stopping_;
      taken.swap(queue_);
    }
    if (stopping && !healthy) return dropped_.add(static_cast<double>(taken.size()));
    healthy = true;
    for (size_t at = 0; at < taken.size(); at += options_.batch_max) {
      const auto begin = std::next(taken.begin(), static_cast<std::ptrdiff_t>(at));
      const size_t size = std::min(options_.batch_max, taken.size() - at);
      const auto end = std::next(begin, static_cast<std::ptrdiff_t>(size));
      if (!healthy) {
        dropped_.add(static_cast<double>(size));
      } else {
        healthy = send_batch({std::make_move_iterator(begin), std::make_move_iterator(end)});
      }
    }
  }
}

bool Exporter::send_batch(std::vector<Account> batch) {
  const Result<void> sent = send_(otlp_request(resource_, batch));
  (sent ? exported_ : failed_).add(static_cast<double>(batch.size()));
  // Log only the first failure of an outage; repeating it every second would help nobody.
  if (!sent && !failure_logged_)
    log::warn("traces", "traces cannot be sent and are dropped: {}", sent.error().message);
  if (sent && failure_logged_) log::info("traces", "traces are sent again");
  failure_logged_ = !sent;
  return sent.has_value();
}

}  // namespace signalbox::observe
