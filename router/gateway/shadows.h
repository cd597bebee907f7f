#pragma once
// The shadows of one request: which models get it as well, once the client has its answer. The
// calls are made elsewhere (shadow/shadows.h).

#include <memory>
#include <optional>

#include "router/gateway/plan_request.h"
#include "router/gateway/send.h"
#include "router/shadow/shadows.h"
#include "router/upstream/copied_reply.h"

namespace signalbox::gateway {

/// Declare it before the record of the request, so that it is destroyed after the record. Its
/// destructor starts the calls, and they add to the published record.
class RequestShadows {
 public:
  explicit RequestShadows(const GatewayContext& context) : context_(context) {}
  ~RequestShadows();
  RequestShadows(const RequestShadows&) = delete;
  RequestShadows& operator=(const RequestShadows&) = delete;

  /// Draws the request. Returns true if it gets shadows; its reply must then pass through copy().
  bool begin(const RequestScope& scope, const routing::Plan& plan, const ServerRequest& server);
  /// The reply, which is copied as it passes.
  std::unique_ptr<upstream::UpstreamReply> copy(std::unique_ptr<upstream::UpstreamReply> reply);
  /// Plans the calls, if the client got the whole answer. Everything that the evaluation refers to
  /// must still exist.
  http::Task<> plan(const RequestScope& scope, const ParsedRequest& request,
                    const routing::Evaluation& evaluation, const routing::Plan& plan);

 private:
  void leave_out(const routing::Plan& plan, std::string_view why) const;
  Result<shadow::Call> plan_call(const RequestScope& scope, const ParsedRequest& request,
                                 const routing::Evaluation& evaluation,
                                 const config::ShadowDispatchPlugin::Arm& arm,
                                 bool may_be_native) const;
  void plan_calls(const RequestScope& scope, const ParsedRequest& request,
                  const routing::Evaluation& evaluation, const routing::Plan& plan);

  const GatewayContext& context_;
  std::optional<bool> is_drawn_;       // once, also if several models are tried
  std::shared_ptr<const void> place_;  // null: the request has no shadows
  size_t bytes_max_ = 0;               // of the reply
  std::shared_ptr<upstream::ReplyCopy> copy_;
  std::optional<request::Api> api_;  // of the reply; nullopt: chat completions
  shadow::Dispatch dispatch_;
};

}  // namespace signalbox::gateway
