#pragma once
// One exchange on one upstream connection. The request goes out, the reply comes in piece by piece,
// and a connection whose exchange ended cleanly goes back to the pool.

#include <functional>
#include <optional>
#include <string>

#include "router/config/config.h"
#include "router/upstream/backend.h"
#include "router/upstream/pool.h"

namespace signalbox::upstream {

class HttpUpstreamReply final : public UpstreamReply {
 public:
  /// `name` of the backend, `address` in the pool and `limits` must outlive the reply.
  HttpUpstreamReply(std::unique_ptr<Channel> channel, http::Interrupt& interrupt,
                    std::string_view name, const std::string& address,
                    const config::HttpLimits& limits);

  /// Sends the request and reads the header of the reply.
  http::Task<Result<void>> begin(std::string_view head, std::string_view body);
  /// Call it after begin() has failed. True if the connection had been idle in the pool and was
  /// closed before a byte came back.
  bool was_stale() const;
  /// True once a byte of the reply has come; interim replies do not count.
  bool has_begun() const { return parser_->started(); }

  const http::Response& head() const override { return response_; }
  bool ready() const override { return !response_.body.empty() || parser_->done(); }
  http::Task<Result<Piece>> next() override;
  void nudge() override;

 private:
  http::Task<Result<void>> receive();
  Result<void> feed();
  Error failed(Error error) const;
  void release();

  std::unique_ptr<Channel> channel_;
  http::Interrupt& interrupt_;
  const std::string_view name_;
  const std::string& address_;
  const config::HttpLimits& limits_;
  http::Response response_;
  std::optional<http::ResponseParser> parser_;
  bool closed_by_peer_ = false;
  bool nudged_ = false;
  std::string piece_;
  std::optional<http::Interrupt::Scope> scope_;  // last: its action closes the channel
};

}  // namespace signalbox::upstream
