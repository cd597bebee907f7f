#pragma once
// An upstream reply in which placeholders become the personal data that they stand for.

#include <memory>
#include <optional>
#include <string>

#include "router/replies/pii_unmask.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// A stream of events is restored as it comes; any other body is read whole first, up to
/// kBodyBytesMax. A reply that cannot be read ends in an error, so that no client sees half of it.
class UnmaskedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// kUpstream if the reply is compressed, although the router accepts no compressed reply.
  static Result<std::unique_ptr<upstream::UpstreamReply>> wrap(
      std::unique_ptr<upstream::UpstreamReply> answer, const std::vector<pii::Mask>& masks);

  const http::Response& head() const override { return head_; }
  /// False, because a piece may restore to nothing.
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { answer_->nudge(); }

 private:
  UnmaskedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                const std::vector<pii::Mask>& masks);
  Result<void> take(const upstream::Piece& piece);

  std::unique_ptr<upstream::UpstreamReply> answer_;
  replies::ReplyMasks masks_;
  http::Response head_;
  std::optional<replies::StreamUnmasker> stream_;
  std::string body_;  // the body so far if it is not a stream
  std::string out_;
};

}  // namespace signalbox::gateway
