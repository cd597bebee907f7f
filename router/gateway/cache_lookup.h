#pragma once
// The fifth stage: an answer that was given before, and the record of a new one for the next time.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/cache/reply.h"
#include "router/cache/response_cache.h"
#include "router/gateway/gateway_context.h"
#include "router/observe/account.h"
#include "router/replies/reply_meter.h"
#include "router/routing/plan.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// The directives of the client: `no-cache` (call the model), `no-store` (do not keep its
/// answer), `bypass` (both), `max-age=SECONDS` (no older answer), `ttl=SECONDS` (keep it no
/// longer).
struct CacheControls {
  bool look_up = true, store = true;
  std::optional<std::chrono::seconds> max_age = {}, ttl = {};
};
/// Ignores directives that are unknown or that the plugin does not allow.
CacheControls read_controls(const config::RequestControls& allowed, std::string_view header);

/// A reply with status 200 that is already here, a whole body of JSON.
std::unique_ptr<upstream::UpstreamReply> stored_reply(std::string body);

/// A reply with status 200 that is already here: a chat completion, whole or as a stream as the
/// client requests. Null if it is not JSON. `with_usage`: a stream has the usage in any case.
std::unique_ptr<upstream::UpstreamReply> completion_reply(std::string completion,
                                                          const request::ChatRequest& request,
                                                          bool with_usage = false);

/// The use of the cache by one request, on the request's loop. All arguments outlive it, and it
/// outlives the replies that it returns.
class CacheLookup {
 public:
  /// Longer questions are compared byte by byte only, because an embedding covers only the
  /// beginning of a text.
  static constexpr size_t kQuestionBytesMax = 1000;
  /// One turn of a decision's `ttl_turns`, as in the vLLM Semantic Router.
  static constexpr std::chrono::seconds kTurn{60};
  /// Longer replies are not kept.
  static constexpr uint64_t kReplyBytesMax = uint64_t{1} << 20;

  /// `target` is the path and query at the server. Without a plugin, or if the body has masked
  /// personal data, nothing is looked up or kept.
  CacheLookup(const GatewayContext& context, const config::ResponseCachePlugin* plugin,
              const routing::Plan& plan, const http::Request& request, std::string_view target);

  /// True if the cache is used at all.
  bool active() const { return key_.has_value(); }

  /// Returns the cached reply, whole or as a stream as the client requests; null for a miss. Every
  /// failure is a miss.
  http::Task<std::unique_ptr<upstream::UpstreamReply>> look_up(const request::ChatRequest& request,
                                                               routing::Evaluation& evaluation,
                                                               http::Interrupt& interrupt);
  /// Returns a reply that passes the bytes on and is stored once it is whole, if it may be.
  /// `streams`: the client has requested a stream.
  std::unique_ptr<upstream::UpstreamReply> record(std::unique_ptr<upstream::UpstreamReply> answer,
                                                  bool streams);

  /// The result of look_up().
  observe::CacheUse use() const;

  /// The tokens of the cached reply. Precondition: look_up() found one.
  replies::ReplyMeter::Times measures() const;

  /// True if the upstream's reply will be read, so that it must come without an encoding.
  bool records() const { return key_.has_value() && controls_.store; }
  /// The headers of the result, such as x-vsr-cache-hit. Call after look_up().
  std::vector<std::pair<std::string_view, std::string>> headers(bool debug) const;

  /// Stores the whole reply. Called by the reply of record().
  void keep(std::string reply);
  /// Wakes the waiters, because no reply will be stored.
  void give_up();
  /// The answer is for this request alone, so none is stored.
  void keep_nothing();

 private:
  bool compares() const;
  std::chrono::seconds lifetime() const;
  http::Task<> find(http::Interrupt& interrupt);
  http::Task<bool> embed_and_find(routing::Evaluation& evaluation, http::Interrupt& interrupt);

  AnswerCache& cache_;
  const std::shared_ptr<cache::ResponseCache> answers_;
  http::ThreadPool& compute_;
  const config::Config& config_;
  const config::ResponseCachePlugin* const plugin_;  // null: none
  const routing::Plan& plan_;
  const std::chrono::milliseconds follow_max_;
  CacheControls controls_;
  std::optional<cache::Key> key_;  // nullopt: the cache is not used
  std::vector<float> vector_;      // (dim) embedding of the question; empty if unknown
  cache::Hit hit_;
  bool failed_ = false;
  http::SingleFlight::Lead lead_;
};

}  // namespace signalbox::gateway
