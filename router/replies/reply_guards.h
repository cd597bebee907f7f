#pragma once
// What of a reply is watched, as the configuration, its models and the request's plan have it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/models/models.h"
#include "router/replies/reply_check.h"
#include "router/request/chat_request.h"
#include "router/routing/plan.h"

namespace signalbox::replies {

/// A reply to be watched.
struct WatchedReply {
  ReplyRules rules;
  std::shared_ptr<ReplyCheck> check;  // shared with checks that outlast the reply
};

/// Immutable and thread-safe.
class ReplyGuards {
 public:
  /// kInvalid for a model that does not do what its place asks for.
  static Result<std::unique_ptr<const ReplyGuards>> create(const config::Config& config,
                                                           const models::Models& models);

  /// Nothing where the plan asks for nothing.
  std::optional<WatchedReply> of(const routing::Plan& plan,
                                 const request::ChatRequest& request) const;

  /// What an operator should know, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  explicit ReplyGuards(const config::Config& config) : config_(config) {}
  Result<void> add_checkers(const models::Models& models);
  Result<void> add_judge(const models::Models& models);
  void add_notices();

  const config::Config& config_;
  std::shared_ptr<const grounding::Checker> plain_, inferring_;  // the same without such a model
  JailbreakJudge judge_;
  std::vector<std::string> notices_;
};

/// What a conversation holds its next reply to. Results of tools are a context, and so are system
/// messages; what users have said supports a reply, and what was answered before does not.
GroundTruth ground_truth_of(const request::ChatRequest& request);

}  // namespace signalbox::replies
