// A mutex protects the pointer. std::atomic<std::shared_ptr> uses a lock too, and the thread
// sanitizer does not understand that.

#include "router/serving/serving_state.h"

#include <utility>

namespace signalbox::serving {
namespace {

/// The coroutine's frame keeps the state alive.
http::Task<> run_on(std::shared_ptr<const ServingState> state, http::Exchange exchange) {
  co_await state->handler(exchange);
}

}  // namespace

std::shared_ptr<const ServingState> CurrentState::get() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void CurrentState::set(std::unique_ptr<const ServingState> next) {
  next->observer->start();
  const auto retire = [retired = retired_](const ServingState* state) {
    std::unique_ptr<const ServingState> owned(state);
    // This deleter keeps `retired`, and the state would keep this deleter.
    owned->self.reset();
    const std::lock_guard lock(retired->mutex);
    retired->states.push_back(std::move(owned));
  };
  std::shared_ptr<const ServingState> held(next.release(), retire);
  held->self = held;
  const std::lock_guard lock(mutex_);
  state_.swap(held);
}

void CurrentState::free_retired() {
  std::vector<std::unique_ptr<const ServingState>> states;  // freed after the lock
  const std::lock_guard lock(retired_->mutex);
  states.swap(retired_->states);
}

http::Handler CurrentState::handler() const {
  return [this](http::Exchange exchange) { return run_on(get(), exchange); };
}

}  // namespace signalbox::serving
