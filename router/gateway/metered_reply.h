#pragma once
// An upstream's answer whose times are written down as it passes.

#include <memory>
#include <string>

#include "router/gateway/request_record.h"
#include "router/replies/reply_meter.h"
#include "router/routing/selection/runtime_stats.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// A request in flight at a model, from construction to destruction.
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

/// Passes everything on, and shows it to `watch`; what was measured goes to `stats` and to it once
/// a reply with status 200 is whole. Both outlive it.
class MeteredReply final : public upstream::UpstreamReply {
 public:
  MeteredReply(std::unique_ptr<upstream::UpstreamReply> answer, selection::RuntimeStats& stats,
               std::string_view model, std::chrono::steady_clock::time_point started,
               RequestRecord& watch);

  const http::Response& head() const override { return answer_->head(); }
  bool ready() const override { return answer_->ready(); }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { answer_->nudge(); }

 private:
  std::unique_ptr<upstream::UpstreamReply> answer_;
  selection::RuntimeStats& stats_;
  const std::string model_;
  RequestRecord& watch_;
  replies::ReplyMeter meter_;
};

}  // namespace signalbox::gateway
