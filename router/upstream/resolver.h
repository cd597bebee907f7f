#pragma once
// Resolves names to addresses. Lookups run on Asio's own thread, and all requests that wait for the
// same name share one. A waiting request can leave before the lookup has ended, which getaddrinfo
// itself does not allow.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::upstream {

/// The resolver of one io_context, which owns it as a service.
class Resolver : public http::asio::execution_context::service {
 public:
  static http::asio::execution_context::id id;
  explicit Resolver(http::asio::execution_context& context);
  static Resolver& of(http::asio::io_context& loop) {
    return http::asio::use_service<Resolver>(loop);
  }

  /// Returns at least one endpoint. Results are cached for kAddressLifetime. Errors: kUpstream (no
  /// such name), kDeadline, kCancelled.
  http::Task<Result<std::vector<http::Endpoint>>> resolve(const std::string& host, uint16_t port,
                                                          std::chrono::milliseconds limit,
                                                          http::Interrupt& interrupt);

 private:
  struct Entry {
    std::vector<http::asio::ip::address> addresses;
    std::string error;
    http::Clock::time_point until{};
    bool pending = false;
    std::vector<http::Timer*> waiters;
  };
  void shutdown() override;
  void look_up(const std::string& host, Entry& entry);

  using AsioResolver = http::asio::ip::basic_resolver<http::asio::ip::tcp, http::Executor>;
  std::optional<AsioResolver> resolver_;
  // Only hosts of the configuration, so their number is bounded
  std::map<std::string, Entry> entries_;
};

}  // namespace signalbox::upstream
