#pragma once
// A model server that is called over HTTP/1.1 with kept connections.

#include <optional>
#include <string>

#include "router/config/config.h"
#include "router/upstream/backend.h"
#include "router/upstream/outgoing.h"
#include "router/upstream/pool.h"

namespace signalbox::upstream {

class HttpBackend final : public Backend {
 public:
  /// upstream/outgoing decides which header fields are sent.
  HttpBackend(const config::BackendRef& ref, const config::HttpLimits& limits,
              std::optional<std::string> api_key, config::Authz::Identity identity = {});

  http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const override;

  /// Returns the reason why every call will fail, or null.
  const Error* trouble() const { return tls_ ? nullptr : &tls_.error(); }

 private:
  std::string head_of(const Call& call) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect(http::asio::io_context& loop,
                                                       http::Interrupt& interrupt) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect_to(http::Endpoint endpoint,
                                                          http::asio::io_context& loop,
                                                          http::Interrupt& interrupt) const;
  Error add_name(Error error) const;

  config::BackendRef ref_;
  config::HttpLimits limits_;
  const Outgoing outgoing_;
  std::string address_;   // "host:port", an IPv6 address in brackets
  std::string pool_key_;  // kept connections with the same key are interchangeable
  Result<std::shared_ptr<const http::Tls>> tls_ = nullptr;  // null: plain TCP
};

}  // namespace signalbox::upstream
