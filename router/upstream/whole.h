#pragma once
// Replies whose whole body is here: read from one that comes piece by piece, and passed on.

#include <string>
#include <utility>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// Returns the whole body. Errors: those of UpstreamReply::next(); kUpstream if it has more than
/// `bytes_max`.
http::Task<Result<std::string>> read_whole(UpstreamReply& reply, size_t bytes_max);

/// A reply in one piece.
class OnePieceReply final : public UpstreamReply {
 public:
  OnePieceReply(http::Response head, std::string body)
      : head_(std::move(head)), body_(std::move(body)) {}
  const http::Response& head() const override { return head_; }
  bool ready() const override { return true; }
  http::Task<Result<Piece>> next() override { co_return Piece{body_, true}; }

 private:
  const http::Response head_;
  const std::string body_;
};

}  // namespace signalbox::upstream
