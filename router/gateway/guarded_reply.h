#pragma once
// An upstream's answer that is watched while it passes: router/guard/guarded_stream says what is
// told and when, this runs the checks and keeps the time.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "router/gateway/request_record.h"
#include "router/gateway/thread_pool.h"
#include "router/http/server.h"
#include "router/replies/guarded_body.h"
#include "router/replies/guarded_stream.h"
#include "router/replies/reply_guards.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// What all of a configuration's watched answers share. All of it outlives them.
struct GuardContext {
  ThreadPool& compute;
  http::Exchange exchange;
  RequestRecord& watch;
  http::Headers& told;                   // what the client is told with the reply; gains warnings
  std::chrono::milliseconds end_wait;    // of a stream's end for its checks
  std::chrono::milliseconds whole_wait;  // of a reply that does not stream
};

/// Events of a stream go on as soon as they are whole; checks run on the compute pool, one at a
/// time for a reply, and what they find is told at once, whether or not upstream says something.
/// Any other body is read whole, up to kBodyBytesMax, and checked before there is an answer.
class GuardedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// Answers other than 200 stay as they are. What cannot be read, being compressed, is marked as
  /// unchecked, or withheld where that counts as found; a reply that is withheld is a refusal with
  /// status 403. Errors: UpstreamReply::next()'s, and kUpstream for a body that is too long.
  static http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> wrap(
      std::unique_ptr<upstream::UpstreamReply> answer, replies::WatchedReply watched,
      const GuardContext& guarding);
  ~GuardedReply() override;

  const http::Response& head() const override { return head_; }
  /// What has been passed on does not wait for the next.
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override;

 private:
  /// What callbacks hold instead of the answer, which may be gone. Of the loop's thread.
  struct Self {
    GuardedReply* answer;
  };

  GuardedReply(std::unique_ptr<upstream::UpstreamReply> answer, replies::WatchedReply watched,
               const GuardContext& guarding, http::Executor executor);
  http::Task<Result<void>> read_whole();
  http::Task<std::optional<replies::ReplyVerdict>> checked(
      std::vector<replies::ReplyWindow> windows);
  void answer_with(replies::GuardedBody body);
  void start_check();
  void take(const replies::ReplyVerdict& verdict, uint64_t check);
  void give_up();
  void trail();
  void mind_the_time();
  void wake();
  http::Task<> sleep();

  std::unique_ptr<upstream::UpstreamReply> answer_;  // null once it has been read
  const replies::ReplyRules rules_;
  const std::shared_ptr<replies::ReplyCheck> check_;
  const GuardContext guarding_;
  const http::Executor executor_;
  const std::shared_ptr<Self> self_;
  const bool trails_;  // the client wants fields behind a stream
  std::stop_source gone_;
  http::Response head_;

  std::optional<replies::GuardedStream> stream_;  // none: the body is whole, in out_
  std::string ready_;                             // for the client
  std::string out_;
  uint64_t checks_ = 0;   // that were begun or given up
  bool running_ = false;  // one of them, perhaps one that was given up
  bool waits_ = false;    // for upstream
  bool upstream_over_ = false;
  std::optional<Error> error_;                     // of upstream, to come behind what was held back
  std::optional<http::Clock::time_point> end_by_;  // the end waits no longer
  http::Timer end_timer_, pause_timer_;
  bool pause_set_ = false;
  std::optional<http::Clock::time_point> came_;  // the last bytes
  std::chrono::duration<double> gap_{0};         // between bytes, lately
};

}  // namespace signalbox::gateway
