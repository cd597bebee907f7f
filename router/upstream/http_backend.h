#pragma once
// A server behind us, spoken to in HTTP/1.1 over kept connections.

#include <optional>
#include <string>

#include "router/config/config.h"
#include "router/upstream/backend.h"
#include "router/upstream/pool.h"

namespace signalbox::upstream {

class HttpBackend final : public Backend {
 public:
  /// `api_key` goes out with every request, in place of the client's own credentials. Where the
  /// configuration has none the client's Authorization passes; where it names one that is missing
  /// nothing does: a client's credential is not for a third party. Nor are its cookies, what
  /// stands before us has said of who it is (x-authz-*, the fields that `identity` names), and keys
  /// for providers (x-user-*-key). What was decided goes out where `engine_kind` says that the
  /// server is a router itself.
  HttpBackend(const config::BackendRef& ref, const config::HttpLimits& limits,
              std::optional<std::string> api_key, config::Authz::Identity identity = {});

  http::Task<Result<std::unique_ptr<Answer>>> call(const Call& call) const override;

 private:
  std::string head_of(const Call& call) const;
  bool is_replaced(std::string_view name) const;
  bool is_withheld(std::string_view name) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect(http::asio::io_context& loop,
                                                       http::Interrupt& interrupt) const;
  http::Task<Result<std::unique_ptr<Channel>>> connect_to(http::Endpoint endpoint,
                                                          http::asio::io_context& loop,
                                                          http::Interrupt& interrupt) const;
  Error named(Error error) const;

  config::BackendRef ref_;
  config::HttpLimits limits_;
  config::Authz::Identity identity_;
  std::string address_;      // "host:port", an IPv6 address in brackets
  std::string credentials_;  // "Authorization: Bearer ...\r\n", or ""
  bool is_told_ = false;     // what was decided
};

}  // namespace signalbox::upstream
