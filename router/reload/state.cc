// A lock around a pointer: std::atomic<std::shared_ptr> is one as well, and the thread sanitizer
// does not understand it.

#include "router/reload/state.h"

#include <utility>

namespace signalbox::router {
namespace {

/// Its frame is what holds the state.
http::Task<> run_on(std::shared_ptr<const State> state, http::Exchange exchange) {
  co_await state->handler(exchange);
}

}  // namespace

std::shared_ptr<const State> Live::get() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Live::set(std::unique_ptr<const State> next) {
  next->observer->start();
  const auto retire = [retired = retired_](const State* state) {
    std::unique_ptr<const State> owned(state);
    const std::lock_guard lock(retired->mutex);
    retired->states.push_back(std::move(owned));
  };
  std::shared_ptr<const State> held(next.release(), retire);
  const std::lock_guard lock(mutex_);
  state_.swap(held);
}

void Live::free_retired() {
  std::vector<std::unique_ptr<const State>> states;  // freed after the lock
  const std::lock_guard lock(retired_->mutex);
  states.swap(retired_->states);
}

http::Handler Live::handler() const {
  return [this](http::Exchange exchange) { return run_on(get(), exchange); };
}

}  // namespace signalbox::router
