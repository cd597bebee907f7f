#pragma once
// An upstream reply that is checked while it passes. replies/guarded_stream decides what goes on
// and when; this class runs the checks and keeps their deadlines.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "router/dialects/dialect.h"
#include "router/gateway/request_record.h"
#include "router/http/server.h"
#include "router/http/thread_pool.h"
#include "router/replies/guarded_body.h"
#include "router/replies/guarded_stream.h"
#include "router/replies/reply_guards.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// The headers, or trailers of a stream, that name what the checks have found and left out.
inline constexpr std::string_view kWarnings = "x-vsr-response-warnings";
inline constexpr std::string_view kUnchecked = "x-vsr-response-unchecked";

/// The surroundings of one checked reply. All of them outlive it.
struct GuardContext {
  http::ThreadPool& pool;  // runs the checks
  http::Share share;       // of the pool
  http::Exchange exchange;
  RequestRecord& record;
  http::Headers& headers;                // of the reply to the client; warnings are added
  std::chrono::milliseconds end_wait;    // how long the end of a stream waits for its checks
  std::chrono::milliseconds whole_wait;  // how long a reply that is not a stream waits
  /// The API of the reply; nullopt for completions.
  std::optional<request::Api> api = std::nullopt;
  /// Writes the refusal for the client of another API; null for completions.
  const dialects::ReplyTranslator* refusals = nullptr;
};

/// Events of a stream go on as soon as they are whole. Checks run on the thread pool, one at a time
/// for a reply, and their findings are sent at once, even while the upstream is silent. Any other
/// body is read whole, up to kBodyBytesMax, and checked before anything is sent.
class GuardedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// Replies with a status other than 200 pass unchanged. A compressed reply cannot be read: it is
  /// marked as unchecked, or withheld if unchecked counts as found. A withheld reply becomes a
  /// refusal with status 403. Errors: those of UpstreamReply::next(), and kUpstream for a body that
  /// is too long.
  static http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> wrap(
      std::unique_ptr<upstream::UpstreamReply> reply, replies::WatchedReply watched,
      const GuardContext& context);
  ~GuardedReply() override;

  const http::Response& head() const override { return head_; }
  /// False, so that bytes that have arrived are flushed before the next wait.
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override;

 private:
  /// Held by callbacks instead of the reply, which may be gone. Used on the loop's thread only.
  struct Self {
    GuardedReply* reply;
  };

  GuardedReply(std::unique_ptr<upstream::UpstreamReply> reply, replies::WatchedReply watched,
               const GuardContext& context, http::Executor executor);
  http::Task<Result<void>> read_whole();
  http::Task<std::optional<replies::ReplyVerdict>> checked(
      std::vector<replies::ReplyWindow> windows);
  void answer_with(replies::GuardedBody body);
  void report(std::string_view name, const std::string& names);
  void start_check();
  void take(const replies::ReplyVerdict& verdict, uint64_t check);
  void give_up();
  void add_trailers();
  void check_deadlines();
  void wake();
  http::Task<> sleep();

  std::unique_ptr<upstream::UpstreamReply> reply_;  // null once it has been read
  const replies::ReplyRules rules_;
  const std::shared_ptr<replies::ReplyCheck> check_;
  const GuardContext context_;
  const http::Executor executor_;
  const std::shared_ptr<Self> self_;
  const bool sends_trailers_;  // the client accepts trailers
  std::stop_source gone_;
  http::Response head_;

  std::optional<replies::GuardedStream> stream_;  // nullopt: the body is whole, in out_
  std::string ready_;                             // events for the client
  std::string out_;
  uint64_t checks_ = 0;   // checks that were begun or given up
  bool running_ = false;  // a check runs, perhaps one that was given up
  bool waits_ = false;    // for the upstream
  bool nudged_ = false;   // since next() was called
  bool upstream_over_ = false;
  std::optional<Error> error_;                     // of the upstream; sent after what was held back
  std::optional<http::Clock::time_point> end_by_;  // when the end stops waiting for checks
  http::Timer end_timer_, pause_timer_;
  bool pause_set_ = false;
  std::optional<http::Clock::time_point> came_;  // when the last bytes came
  std::chrono::duration<double> gap_{0};         // mean gap between bytes
};

}  // namespace signalbox::gateway
