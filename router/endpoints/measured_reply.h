#pragma once
// An upstream reply whose usage is read as it passes.

#include <memory>
#include <string>

#include "router/gateway/request_record.h"
#include "router/replies/reply_meter.h"
#include "router/upstream/backend.h"

namespace signalbox::endpoints {

/// Passes every byte on. Once a reply with status 200 is whole, the tokens of its usage go to
/// `record`, which outlives this. Rerankers report them at the beginning, other servers at the end.
/// A reply that is neither JSON nor a stream of events has none.
class MeasuredReply final : public upstream::UpstreamReply {
 public:
  MeasuredReply(std::unique_ptr<upstream::UpstreamReply> reply, gateway::RequestRecord& record);

  const http::Response& head() const override { return reply_->head(); }
  bool ready() const override { return reply_->ready(); }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { reply_->nudge(); }

 private:
  replies::ReplyMeter::Times usage() const;

  std::unique_ptr<upstream::UpstreamReply> reply_;
  gateway::RequestRecord& record_;
  const bool reports_usage_;
  std::string beginning_;      // of the body
  replies::ReplyMeter meter_;  // reads the end
};

}  // namespace signalbox::endpoints
