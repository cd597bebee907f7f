// A waiting request holds a timer, which the end of the lookup cancels.

#include "router/upstream/resolver.h"

#include <algorithm>
#include <utility>

namespace signalbox::upstream {
namespace {

using http::ErrorCode;

/// Asio does not return the time to live. Half a minute notices a moved service soon enough and
/// spares the name server.
constexpr std::chrono::seconds kAddressLifetime{30};

std::vector<http::Endpoint> endpoints(const std::vector<http::asio::ip::address>& addresses,
                                      uint16_t port) {
  std::vector<http::Endpoint> out;
  for (const auto& address : addresses) out.emplace_back(address, port);
  return out;
}

}  // namespace

http::asio::execution_context::id Resolver::id;

Resolver::Resolver(http::asio::execution_context& context)
    : http::asio::execution_context::service(context),
      resolver_(std::in_place, static_cast<http::asio::io_context&>(context)) {}

void Resolver::shutdown() {
  resolver_.reset();
}

void Resolver::look_up(const std::string& host, Entry& entry) {
  entry.pending = true;
  resolver_->async_resolve(
      host, "", [&entry](const ErrorCode& error, const AsioResolver::results_type& results) {
        entry.pending = false;
        entry.addresses.clear();
        entry.error = error ? error.message() : "";
        entry.until = http::Clock::now() + kAddressLifetime;
        for (const auto& result : results) entry.addresses.push_back(result.endpoint().address());
        for (http::Timer* waiter : std::exchange(entry.waiters, {})) waiter->cancel();
      });
}

http::Task<Result<std::vector<http::Endpoint>>> Resolver::resolve(const std::string& host,
                                                                  uint16_t port,
                                                                  std::chrono::milliseconds limit,
                                                                  http::Interrupt& interrupt) {
  ErrorCode not_numeric;
  const auto address = http::asio::ip::make_address(host, not_numeric);
  if (!not_numeric) co_return std::vector{http::Endpoint(address, port)};

  Entry& entry = entries_[host];
  if (!entry.addresses.empty() && http::Clock::now() < entry.until)
    co_return endpoints(entry.addresses, port);
  if (!entry.pending) look_up(host, entry);

  http::Timer waiting(static_cast<http::asio::io_context&>(context()));
  waiting.expires_after(limit);
  entry.waiters.push_back(&waiting);
  {
    http::Interrupt::Scope scope(interrupt, [&waiting] { waiting.cancel(); });
    co_await waiting.async_wait(http::kAwait);
  }
  std::erase(entry.waiters, &waiting);
  if (interrupt.raised()) co_return tl::unexpected<Error>(interrupt.error());
  if (entry.pending) {
    co_return fail(Code::kDeadline, "looking up \"{}\" took longer than {} ms", host,
                   limit.count());
  }
  if (entry.addresses.empty())
    co_return fail(Code::kUpstream, "cannot resolve \"{}\": {}", host, entry.error);
  co_return endpoints(entry.addresses, port);
}

}  // namespace signalbox::upstream
