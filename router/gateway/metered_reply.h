#pragma once
// An upstream reply whose latency and tokens are measured as it passes, and a stream without the
// usage that only the router has requested.

#include <memory>
#include <string>

#include "router/gateway/request_record.h"
#include "router/replies/first_chunk.h"
#include "router/replies/reply_meter.h"
#include "router/replies/usage_taker.h"
#include "router/routing/selection/runtime_stats.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// Counts a request as in flight at a model from construction to destruction.
class InFlight {
 public:
  InFlight(selection::RuntimeStats& stats, std::string_view model) : stats_(stats), model_(model) {
    stats_.started(model_);
  }
  ~InFlight() { stats_.ended(model_); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  selection::RuntimeStats& stats_;
  const std::string model_;
};

/// Passes every byte on and records it in `record`. Once a reply with status 200 is whole, the
/// measured times go to `stats` and `record`. Both outlive this.
class MeteredReply final : public upstream::UpstreamReply {
 public:
  MeteredReply(std::unique_ptr<upstream::UpstreamReply> reply, selection::RuntimeStats& stats,
               std::string_view model, std::chrono::steady_clock::time_point started,
               RequestRecord& record);

  const http::Response& head() const override { return reply_->head(); }
  bool ready() const override { return reply_->ready(); }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { reply_->nudge(); }

 private:
  std::unique_ptr<upstream::UpstreamReply> reply_;
  selection::RuntimeStats& stats_;
  const std::string model_;
  RequestRecord& record_;
  replies::ReplyMeter meter_;
};

/// A stream of chat completions without its usage. Another body passes as it comes.
class UsageTakenReply final : public upstream::UpstreamReply {
 public:
  static std::unique_ptr<upstream::UpstreamReply> wrap(
      std::unique_ptr<upstream::UpstreamReply> reply);

  const http::Response& head() const override { return head_; }
  /// False, because a piece may be taken out whole.
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { reply_->nudge(); }

 private:
  explicit UsageTakenReply(std::unique_ptr<upstream::UpstreamReply> reply);

  std::unique_ptr<upstream::UpstreamReply> reply_;
  http::Response head_;
  replies::UsageTaker taker_;
  std::string out_;
};

/// A stream of chat completions whose first chunk has one more member.
class ExtendedReply final : public upstream::UpstreamReply {
 public:
  /// `json` is the value of the member. Precondition: `reply` is a stream of events.
  ExtendedReply(std::unique_ptr<upstream::UpstreamReply> reply, std::string_view name,
                std::string_view json);

  const http::Response& head() const override { return head_; }
  /// False, because the beginning of a line is held back.
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { reply_->nudge(); }

 private:
  std::unique_ptr<upstream::UpstreamReply> reply_;
  http::Response head_;  // without a length, because the member adds to the body
  replies::FirstChunkEditor editor_;
  std::string out_;
};

}  // namespace signalbox::gateway
