// A coroutine on another loop is woken by setting its timer to the past.

#include "router/http/single_flight.h"

#include <utility>

namespace signalbox::http {

SingleFlight::Lead& SingleFlight::Lead::operator=(Lead&& other) noexcept {
  if (this == &other) return *this;
  end();
  flights_ = std::exchange(other.flights_, nullptr);
  id_ = std::move(other.id_);
  return *this;
}

void SingleFlight::Lead::end() {
  if (flights_ != nullptr) std::exchange(flights_, nullptr)->end(id_);
}

Task<SingleFlight::Lead> SingleFlight::enter(std::string id, Interrupt& interrupt,
                                             std::chrono::milliseconds patience) {
  const Executor executor = co_await asio::this_coro::executor;
  auto timer = std::make_shared<Timer>(executor, patience);
  bool leads = false;
  {
    const std::lock_guard lock(mutex_);
    const auto [flight, is_new] = flights_.try_emplace(id);
    leads = is_new;
    if (!leads) flight->second.push_back(timer);
  }
  if (leads) co_return Lead(this, std::move(id));
  std::function<void()> give_up = [timer] { wake(*timer); };
  const Interrupt::Scope scope(interrupt, std::move(give_up));
  co_await timer->async_wait(kAwait);
  co_return Lead();
}

void SingleFlight::end(const std::string& id) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    const auto flight = flights_.find(id);
    if (closed_ || flight == flights_.end()) return;
    waiters = std::move(flight->second);
    flights_.erase(flight);
  }
  for (Waiter& waiter : waiters) wake_from_anywhere(std::move(waiter));
}

void SingleFlight::close() {
  std::map<std::string, std::vector<Waiter>> flights;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  flights_.swap(flights);
}

}  // namespace signalbox::http
