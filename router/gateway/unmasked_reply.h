#pragma once
// An upstream's answer in which placeholders become what they stand for.

#include <memory>
#include <optional>
#include <string>

#include "router/replies/pii_unmask.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// A stream of events goes on as it comes; any other body is read whole first, up to
/// kBodyBytesMax. Nobody is ever shown half: what cannot be read ends in an error.
class UnmaskedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// kUpstream for an answer that is compressed although it was not asked to be.
  static Result<std::unique_ptr<upstream::UpstreamReply>> wrap(
      std::unique_ptr<upstream::UpstreamReply> answer, const std::vector<pii::Mask>& masks);

  const http::Response& head() const override { return head_; }
  /// One piece may become none: what has been passed on does not wait for the next.
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
  std::string body_;  // of what is no stream, so far
  std::string out_;
};

}  // namespace signalbox::gateway
