#pragma once
// A server behind us, spoken to in HTTP/1.1 over kept connections.

#include <optional>
#include <string>

#include "router/config/config.h"
#include "router/upstream/backend.h"
#include "router/upstream/outgoing.h"
#include "router/upstream/pool.h"

namespace signalbox::upstream {

class HttpBackend final : public Backend {
 public:
  /// What goes out is upstream/outgoing's business.
  HttpBackend(const config::BackendRef& ref, const config::HttpLimits& limits,
              std::optional<std::string> api_key, config::Authz::Identity identity = {});

  http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const override;

  /// Why every call will fail, if so.
  const Error* trouble() const { return tls_ ? nullptr : &tls_.error(); }

 private:
  std::string head_of(const Call& call) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect(http::asio::io_context& loop,
                                                       http::Interrupt& interrupt) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect_to(http::Endpoint endpoint,
                                                          http::asio::io_context& loop,
                                                          http::Interrupt& interrupt) const;
  Error named(Error error) const;

  config::BackendRef ref_;
  config::HttpLimits limits_;
  const Outgoing outgoing_;
  std::string address_;   // "host:port", an IPv6 address in brackets
  std::string pool_key_;  // of connections that are as good as this one's
  Result<std::shared_ptr<const http::Tls>> tls_ = nullptr;  // null: plain
};

}  // namespace signalbox::upstream
