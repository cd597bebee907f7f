#pragma once
// A reply that is copied as it passes.

#include <memory>
#include <string>
#include <string_view>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

struct ReplyCopy {
  std::string bytes;
  size_t bytes_max = 0;
  bool is_stream = false;
  bool is_whole = false;  // the last byte has passed
  bool is_cut = false;    // the reply has more than bytes_max

  void add(std::string_view more) {
    is_cut = is_cut || more.size() > bytes_max - bytes.size();
    if (!is_cut) bytes.append(more);
  }
};

/// Passes every byte on and adds it to the copy, which may outlive the reply.
class CopiedReply final : public UpstreamReply {
 public:
  CopiedReply(std::unique_ptr<UpstreamReply> reply, std::shared_ptr<ReplyCopy> copy)
      : reply_(std::move(reply)), copy_(std::move(copy)) {}

  const http::Response& head() const override { return reply_->head(); }
  bool ready() const override { return reply_->ready(); }
  http::Task<Result<Piece>> next() override {
    Result<Piece> piece = co_await reply_->next();
    if (piece) copy_->add(piece->bytes);
    if (piece && piece->last) copy_->is_whole = true;
    co_return piece;
  }
  void nudge() override { reply_->nudge(); }

 private:
  const std::unique_ptr<UpstreamReply> reply_;
  const std::shared_ptr<ReplyCopy> copy_;
};

}  // namespace signalbox::upstream
