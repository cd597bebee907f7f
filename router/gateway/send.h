#pragma once
// The sixth stage: the request as the model's server reads it, and the call.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/dialects/dialect.h"
#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/plugins/header_mutation/header_mutation.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

/// A plan's request in the API of the model's server.
struct ServerRequest {
  std::string target;  // path and query
  std::string body;    // "": the plan's body
  /// Turns the server's reply into a chat completion; null if it is one.
  std::unique_ptr<dialects::ReplyTranslator> from_server;
  /// The image server that gets it instead of the plan's model; null: the model's servers.
  const config::ImageGenPlugin* image = nullptr;
  bool is_direct = false;        // even behind a proxy, the router calls the server itself
  bool to_client = false;        // the chat completion must be translated to the client's API
  bool is_chat = true;           // the reply becomes a chat completion on its way
  dialects::Losses losses = {};  // what the server does not get
};

/// kUnsupported if the model's server cannot serve the client's API; kInvalid if the request would
/// mean something else there, or if the configuration wants no part to be left out; the
/// translator's errors.
Result<ServerRequest> make_server_request(const RequestScope& scope, const ParsedRequest& request,
                                          const routing::Plan& plan);
/// Makes the request of a plan for several models, or of one of their calls. It is a chat, whatever
/// the client's API, because the answer is made of the texts of chats. Only a call whose plan is
/// native keeps the client's API (keeps_api()). `only_quotes`: a prompt of the router quotes the
/// conversation, and other calls answer the whole request, so no part of it is lost. Errors: those
/// of make_server_request(), and kInvalid for a parameter that no chat has.
Result<ServerRequest> make_loop_request(const RequestScope& scope, const ParsedRequest& request,
                                        const routing::Plan& plan, bool only_quotes);

/// Returns a request in one of these APIs without what only this router understands; "" if nothing
/// changes.
std::string without_own_parts(request::Api api, std::string_view body);

/// The most memory that either takes besides the plan's body.
size_t translating_bytes(const RequestScope& scope, const routing::Plan& plan);

/// Adds x-vsr-client-protocol and x-vsr-upstream-protocol unless both sides speak OpenAI's API.
void add_protocols(const RequestScope& scope, const routing::Plan& plan, http::Headers& fields);

/// The client's headers as the plan's servers get them, for a reply that is read here.
plugins::UpstreamHeaders headers_for_server(const RequestScope& scope, const routing::Plan& plan,
                                            const ServerRequest& server);

/// One call to the servers of a plan's model. Lives until the reply is gone, because the call
/// refers to its members. All arguments outlive it.
class ServerCall {
 public:
  /// Records that the request is sent. `decided` are the decision headers, which a router behind us
  /// reads. `needs_reply`: the reply must pass through us, because we inspect or change it.
  /// `reads_reply`: send() returns it without an encoding if the router can read that.
  ServerCall(const RequestScope& scope, const ParsedRequest& request, const routing::Plan& plan,
             const ServerRequest& server, const http::Headers& decided, bool needs_reply,
             bool reads_reply);
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;

  /// Returns when a reply begins or the call has failed.
  http::Task<upstream::CallOutcome> send() const;
  /// True if a server may have begun with the request.
  bool was_sent() const { return stage_ != upstream::Stage::kConnecting; }

 private:
  RequestRecord& record_;
  const upstream::ModelCaller& caller_;
  const config::Model& model_;
  plugins::UpstreamHeaders changed_;  // the changed headers, if any change
  const http::Headers& client_;       // the client's, perhaps changed
  std::vector<std::string_view> prompt_;
  const std::string_view body_;
  const bool reads_reply_;
  const std::string traceparent_;
  mutable upstream::Stage stage_ = upstream::Stage::kConnecting;  // set while send() runs
  const upstream::Call call_;
};

}  // namespace signalbox::gateway
