#pragma once
// The Asio types of the data plane. Each event loop is one io_context with one thread, so state
// that belongs to a loop needs no locks. The executor type is concrete, because the type-erased
// default costs an indirection for every operation.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <utility>

namespace signalbox::http {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

using Executor = asio::io_context::executor_type;
template <class T = void>
using Task = asio::awaitable<T, Executor>;

using Endpoint = asio::ip::tcp::endpoint;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;
using Clock = std::chrono::steady_clock;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

/// The completion token: `auto [error, size] = co_await socket.async_read_some(buffer, kAwait);` It
/// returns errors as values.
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<Executor>> kAwait{};

/// Ends a wait for the timer; also one that has not begun yet.
inline void wake(Timer& timer) {
  timer.expires_at(Clock::time_point::min());
}

/// The same from any thread.
inline void wake_from_anywhere(std::shared_ptr<Timer> timer) {
  const Executor executor = timer->get_executor();
  asio::post(executor, [timer = std::move(timer)] { wake(*timer); });
}

/// Returns the loop that runs the coroutine of this executor.
inline asio::io_context& loop_of(const Executor& executor) {
  return executor.context();
}

}  // namespace signalbox::http
