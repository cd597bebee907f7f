// The threads, event loops and acceptors of the server.

#include "router/http/server.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/http/connection.h"

namespace signalbox::http {
namespace {

/// Beyond connections_max this many more connections may wait for a 503. Any further one is closed
/// without a reply.
constexpr uint32_t kRefusedMax = 128;
/// If accepting fails, for example for want of file descriptors, wait until open connections may
/// have ended.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// Time for the errors of requests that are ended when the router stops.
constexpr std::chrono::milliseconds kExpiryLimit{1000};

struct Loop {
  LoopConnections
      connections;  // before io: connections that io still owns leave it in their destructors
  asio::io_context io{1};
  asio::executor_work_guard<Executor> work{io.get_executor()};
  std::thread thread;
};

struct Listening {
  ListenerState state;
  Acceptor acceptor;
};

}  // namespace

struct Server::Impl {
  Impl(const config::HttpLimits& limits, ErrorBody error_body) {
    shared.limits = limits;
    shared.error_body = std::move(error_body);
    const uint32_t count =
        limits.threads != 0 ? limits.threads : std::max(1U, std::thread::hardware_concurrency());
    for (uint32_t i = 0; i < count; ++i) loops.push_back(std::make_unique<Loop>());
  }

  ~Impl() {
    stop();
    shared.memory.close();
    // The order matters: the acceptors' coroutines live in the first loop and hold sockets of the
    // others.
    listeners.clear();
    for (auto& loop : loops) loop.reset();
  }

  Task<> accept(Listening& listening);
  void admit(Socket socket, Loop& loop, const ListenerState& state);
  void stop();

  ServerState shared;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<std::unique_ptr<Listening>> listeners;
  size_t next_loop = 0;
  bool started = false;
};

Task<> Server::Impl::accept(Listening& listening) {
  Timer pause(loops.front()->io);
  for (;;) {
    Loop& loop = *loops[next_loop++ % loops.size()];
    Socket socket(loop.io);
    const auto [error] = co_await listening.acceptor.async_accept(socket, kAwait);
    if (!listening.acceptor.is_open()) co_return;
    if (!error) {
      admit(std::move(socket), loop, listening.state);
    } else if (error != asio::error::connection_aborted) {
      log::warn("http", "{}: cannot accept a connection: {}", listening.state.listener.name,
                error.message());
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kAwait);
    }
  }
}

void Server::Impl::admit(Socket socket, Loop& loop, const ListenerState& state) {
  const uint32_t open = shared.open_connections.enter();
  const uint32_t limit = shared.limits.connections_max;
  const uint32_t configured = shared.limits.connections_per_address_max;
  const uint32_t address_limit = configured != 0 ? configured : std::max(1U, limit / 2);
  if (open > limit + kRefusedMax) {
    shared.open_connections.leave();
    ++shared.refused_connections;
    return;
  }
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  std::string address = socket.remote_endpoint(ignored).address().to_string();
  const uint32_t of_address = shared.addresses.enter(address);
  if (of_address > address_limit + kRefusedMax) {
    shared.addresses.leave(address);
    shared.open_connections.leave();
    ++shared.refused_connections;
    return;
  }
  auto begin = [this, &loop, &state, admitted = open <= limit && of_address <= address_limit,
                address = std::move(address), socket = std::move(socket)]() mutable {
    if (loop.connections.draining) {
      shared.addresses.leave(address);
      return shared.open_connections.leave();
    }
    auto connection = std::make_shared<Connection>(std::move(socket), std::move(address), shared,
                                                   state, loop.connections);
    auto ended = [](std::exception_ptr failure) {
      if (!failure) return;
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& e) {
        log::error("http", "a connection failed: {}", e.what());
      }
    };
    asio::co_spawn(loop.io, Connection::serve(std::move(connection), admitted), ended);
  };
  asio::post(loop.io, std::move(begin));
}

void Server::Impl::stop() {
  for (auto& loop : loops) {
    loop->io.stop();
    if (loop->thread.joinable()) loop->thread.join();
  }
  // The ports are free at once, although the owner may still have other work to end.
  ErrorCode ignored;
  for (auto& listening : listeners) listening->acceptor.close(ignored);
}

Server::Server(const config::HttpLimits& limits, ErrorBody error_body)
    : impl_(std::make_unique<Impl>(limits, std::move(error_body))) {}

Server::~Server() = default;

namespace {

/// Advice for an address that cannot be bound.
std::string_view advice(const ErrorCode& error) {
  if (error == asio::error::address_in_use)
    return "; stop the process that listens there, or configure another port";
  if (error == asio::error::access_denied)
    return "; configure a port from 1024 on, or let the process bind lower ones";
  if (error == boost::system::errc::address_not_available)
    return "; this machine has no such address; 127.0.0.1 and 0.0.0.0 always exist";
  return "";
}

/// Where a listener listens, and with which certificate.
struct Place {
  Endpoint endpoint;
  std::shared_ptr<const Tls> tls;  // null: plain HTTP
};

Result<Place> place_of(const config::Listener& listener) {
  std::shared_ptr<const Tls> tls;
  if (!listener.tls_cert_path.empty()) {
    auto made = Tls::for_server(listener.tls_cert_path, listener.tls_key_path);
    if (!made)
      return fail(made.error().code, "listener \"{}\": {}", listener.name, made.error().message);
    tls = *std::move(made);
  }
  ErrorCode error;
  const auto address = asio::ip::make_address(
      listener.address == "localhost" ? "127.0.0.1" : listener.address, error);
  if (error) {
    return fail(Code::kInvalid, "listener \"{}\": address: expected an IP address, found \"{}\"",
                listener.name, listener.address);
  }
  return Place{Endpoint(address, listener.port), std::move(tls)};
}

}  // namespace

Result<void> Server::check(const config::Listener& listener) {
  SIGNALBOX_TRY(const Place place, place_of(listener));
  return {};
}

Result<uint16_t> Server::listen(const config::Listener& listener, Handler handler) {
  SIGNALBOX_CHECK(!impl_->started);
  const auto where = [&](std::string_view why) {
    return fail(Code::kIo, "listener \"{}\" {}:{}: {}", listener.name, listener.address,
                listener.port, why);
  };
  SIGNALBOX_TRY(Place place, place_of(listener));
  const Endpoint& endpoint = place.endpoint;
  ErrorCode error;
  Acceptor acceptor(impl_->loops.front()->io);
  acceptor.open(endpoint.protocol(), error);
  // This only lets a restart bind while old connections are in TIME_WAIT. A port with a listener
  // still cannot be bound.
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(Acceptor::max_listen_connections, error);
  if (error) return where(fmt::format("{}{}", error.message(), advice(error)));
  const uint16_t port = acceptor.local_endpoint(error).port();
  impl_->listeners.push_back(std::make_unique<Listening>(
      Listening{{listener, std::move(handler), std::move(place.tls)}, std::move(acceptor)}));
  return port;
}

void Server::start() {
  SIGNALBOX_CHECK(!impl_->started);
  impl_->started = true;
  for (auto& listening : impl_->listeners) {
    asio::co_spawn(impl_->loops.front()->io, impl_->accept(*listening), asio::detached);
  }
  for (auto& loop : impl_->loops) {
    loop->thread = std::thread([&io = loop->io] { io.run(); });
  }
}

bool Server::drain(std::chrono::milliseconds limit) {
  if (!impl_->started) return true;
  // This holds one count until every loop has begun to drain, so that a connection on its way is
  // not missed.
  ConnectionCounter& open_connections = impl_->shared.open_connections;
  open_connections.enter();
  auto hold =
      std::shared_ptr<void>(nullptr, [&open_connections](void*) { open_connections.leave(); });
  auto close_listeners = [this] {
    ErrorCode ignored;
    for (auto& listening : impl_->listeners) listening->acceptor.close(ignored);
  };
  asio::post(impl_->loops.front()->io, std::move(close_listeners));
  for (auto& loop : impl_->loops) {
    auto close_idle = [&connections = loop->connections, hold] {
      connections.draining = true;
      for (Connection* c = connections.first; c != nullptr; c = c->next()) c->drain();
    };
    asio::post(loop->io, std::move(close_idle));
  }
  hold.reset();
  if (open_connections.wait_until_empty(limit)) return true;
  for (auto& loop : impl_->loops) {
    asio::post(loop->io, [&connections = loop->connections, limit] {
      Connection* next = nullptr;  // a connection may end at once
      for (Connection* c = connections.first; c != nullptr; c = next) {
        next = c->next();
        c->expire(fmt::format("{} ms, the time to finish when the router stops", limit.count()));
      }
    });
  }
  static_cast<void>(open_connections.wait_until_empty(kExpiryLimit));
  return false;
}

void Server::stop() {
  impl_->stop();
}

Server::Counts Server::counts() const {
  const ServerState& shared = impl_->shared;
  return {shared.open_connections.count(), shared.refused_connections.load(),
          shared.memory.refused(), shared.memory.waiting()};
}

size_t Server::threads() const {
  return impl_->loops.size();
}

}  // namespace signalbox::http
