// Pauses are random within bounds, so that routers that lost their collector at the same moment do
// not return at the same moment.

#include "router/observe/courier.h"

#include <algorithm>

#include "base/log.h"

namespace signalbox::observe {

using std::chrono::milliseconds;

Courier::Courier(Exported what, ExportCounters counters)
    : what_(what),
      exported_(counters.results.with({"exported"})),
      failed_(counters.results.with({"failed"})),
      retries_(counters.retries.only()),
      rejected_(counters.rejected.only()) {}

Courier::Outcome Courier::deliver(const Send& send, const std::string& body, double size,
                                  const RetryOptions& options, const Wait& wait) {
  const auto until = std::chrono::steady_clock::now() + options.keep;
  for (milliseconds pause = options.pause;; pause = std::min(2 * pause, options.pause_max)) {
    const Delivery delivery = send(body);
    report(delivery);
    if (delivery.outcome == Delivery::Outcome::kAccepted) {
      exported_.add(size);
      rejected_.add(static_cast<double>(delivery.rejected));
      return Outcome::kAccepted;
    }
    const bool again =
        delivery.outcome == Delivery::Outcome::kAgain && std::chrono::steady_clock::now() < until;
    if (again) retries_.add();
    if (again && wait(std::max(spread(pause), delivery.pause))) continue;
    failed_.add(size);
    return delivery.outcome == Delivery::Outcome::kRefused ? Outcome::kRefused : Outcome::kGivenUp;
  }
}

milliseconds Courier::spread(milliseconds pause) {
  std::uniform_real_distribution<double> share(0.5, 1.5);
  return milliseconds(
      static_cast<milliseconds::rep>(static_cast<double>(pause.count()) * share(random_)));
}

// Logs only the first failure of an outage; repeating it every second would help nobody.
void Courier::report(const Delivery& delivery) {
  const bool accepted = delivery.outcome == Delivery::Outcome::kAccepted;
  if (!accepted && !failure_logged_) {
    log::warn(what_.name, "{} cannot be sent and are {}: {}", what_.name,
              delivery.outcome == Delivery::Outcome::kAgain ? "kept for a while" : "dropped",
              delivery.message);
  }
  if (accepted && failure_logged_) log::info(what_.name, "{} are sent again", what_.name);
  failure_logged_ = !accepted;
  if (!accepted) return;
  // A collector may also send a message without rejected parts, which is a warning.
  const bool rejects = delivery.rejected > 0 || !delivery.message.empty();
  if (rejects && !rejection_logged_) {
    log::warn(what_.name, "the collector did not take {} {} of an export: {}", delivery.rejected,
              what_.parts, delivery.message);
  }
  rejection_logged_ = rejects;
}

}  // namespace signalbox::observe
