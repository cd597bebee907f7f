#pragma once
// Selects the checks of a reply from the configuration, its models and the request's plan.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/models/models.h"
#include "router/replies/reply_check.h"
#include "router/request/chat_request.h"
#include "router/routing/plan.h"

namespace signalbox::replies {

/// A reply that is checked.
struct WatchedReply {
  ReplyRules rules;
  std::shared_ptr<ReplyCheck> check;      // shared with checks that outlive the reply
  std::chrono::milliseconds wait_min{0};  // how long its end waits for checks, at least
  /// True if its checks wait for the detector's server.
  bool calls_server() const { return wait_min.count() > 0; }
};

/// Immutable and thread-safe.
class ReplyGuards {
 public:
  /// kInvalid for a model that is of the wrong kind for its place.
  static Result<std::unique_ptr<const ReplyGuards>> create(const config::Config& config,
                                                           const models::Models& models);

  /// Returns nullopt if the plan requests no checks.
  std::optional<WatchedReply> watched_reply(const routing::Plan& plan,
                                            const request::ChatRequest& request) const;

  /// Notices for the operator, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  explicit ReplyGuards(const config::Config& config) : config_(config) {}
  Result<void> add_checkers(const models::Models& models);
  Result<void> add_judge(const models::Models& models);
  void add_notices();

  const config::Config& config_;
  std::shared_ptr<const grounding::Checker> plain_,
      inferring_;                                      // plain_ has no inference model
  std::optional<std::chrono::seconds> detector_wait_;  // of a call, if the detector is a server
  JailbreakJudge judge_;
  std::vector<std::string> notices_;
};

/// Returns the texts that the next reply of a conversation is checked against. The context consists
/// of tool results, system messages and earlier messages of the user. Earlier answers are not part
/// of it. `documents` are those that the router adds to the request.
GroundTruth ground_truth_of(const request::ChatRequest& request, std::string_view documents = "");

}  // namespace signalbox::replies
