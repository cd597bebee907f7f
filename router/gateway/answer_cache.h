#pragma once
// The response cache on the way of a request: looked at before its server is asked, and told what
// the server said.

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "router/cache/memory_store.h"
#include "router/cache/reply.h"
#include "router/cache/response_cache.h"
#include "router/gateway/single_flight.h"
#include "router/gateway/thread_pool.h"
#include "router/http/server.h"
#include "router/observe/account.h"
#include "router/replies/reply_meter.h"
#include "router/routing/plan.h"
#include "router/routing/router.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// Whether a decision of the configuration keeps answers.
bool caches_answers(const config::Config& config);

/// What of the cache outlives a configuration. Thread-safe.
class AnswerCache {
 public:
  AnswerCache() { configure({}); }

  /// The store of a configuration that is to serve; what an operator should know where it cannot be
  /// had. Requests that have begun go on with the one before.
  std::optional<std::string> configure(const config::ResponseCacheStore& store);

  /// The answers of the process before, once, after configure(); what an operator should know about
  /// a file that cannot be read.
  std::optional<std::string> load();
  /// For the process after; says what goes wrong in the log.
  void save();

  /// Shared with the requests that use it.
  std::shared_ptr<cache::ResponseCache> answers() const;
  SingleFlight& flights() { return flights_; }

 private:
  /// The store in memory, and its file; null where answers lie elsewhere or have no file.
  std::pair<cache::MemoryStore*, std::filesystem::path> kept() const;

  SingleFlight flights_;
  mutable std::mutex mutex_;
  config::ResponseCacheStore configured_;
  std::shared_ptr<cache::ResponseCache> answers_;
  cache::MemoryStore* memory_ = nullptr;  // within answers_; null: it is elsewhere
};

/// What a client asks of the cache: `no-cache` (the model is asked), `no-store` (its answer is not
/// kept), `bypass` (both), `max-age=SECONDS` (nothing older), `ttl=SECONDS` (kept no longer).
struct CacheControls {
  bool look_up = true, store = true;
  std::optional<std::chrono::seconds> max_age = {}, ttl = {};
};
/// What the plugin does not allow, and what is none of these, is passed over.
CacheControls read_controls(const config::RequestControls& allowed, std::string_view header);

/// What one request has to do with the cache. Lives on the request's loop; everything given lives
/// longer, and the answers that it makes do not outlive it.
class CacheLookup {
 public:
  /// A follower waits so long for the one that asks the same, unless it has less patience.
  static constexpr std::chrono::seconds kFollowMax{60};
  /// Longer questions are compared byte by byte only: an embedding is of a text's beginning.
  static constexpr size_t kQuestionBytesMax = 1000;
  /// Longer answers are not kept.
  static constexpr uint64_t kReplyBytesMax = uint64_t{1} << 20;

  /// `target`: the path and query that the server would be asked. Without a plugin, or where the
  /// body stands for personal data that was masked, nothing is looked up and nothing kept.
  CacheLookup(AnswerCache& cache, ThreadPool& compute, const config::Config& config,
              const config::ResponseCachePlugin* plugin, const routing::Plan& plan,
              const http::Request& request, std::string_view target,
              std::chrono::milliseconds follow_max = kFollowMax);

  /// Whether the cache is looked at or told at all.
  bool active() const { return key_.has_value(); }

  /// The kept answer, as the client wants it; null for a miss, which everything that fails is too.
  http::Task<std::unique_ptr<upstream::UpstreamReply>> look_up(const request::ChatRequest& request,
                                                               routing::Evaluation& evaluation,
                                                               http::Interrupt& interrupt);
  /// The same answer, and once it is whole it is kept if it may be.
  std::unique_ptr<upstream::UpstreamReply> record(std::unique_ptr<upstream::UpstreamReply> answer);

  /// How it went; after look_up().
  observe::CacheUse use() const;

  /// What the kept answer says of its tokens; after look_up() found one.
  replies::ReplyMeter::Times measures() const;

  /// Whether the upstream's answer will be read: it has to come without an encoding.
  bool records() const { return key_.has_value() && controls_.store; }
  /// What the client is told: x-vsr-cache-hit and the like; after look_up().
  std::vector<std::pair<std::string_view, std::string>> headers(bool debug) const;

  /// The answer that is whole. By record().
  void keep(std::string reply);
  /// There will be none, and nobody shall wait for it.
  void give_up();

 private:
  bool compares() const;
  http::Task<> find(http::Interrupt& interrupt);
  http::Task<bool> embed_and_find(routing::Evaluation& evaluation, http::Interrupt& interrupt);

  AnswerCache& cache_;
  const std::shared_ptr<cache::ResponseCache> answers_;
  ThreadPool& compute_;
  const config::Config& config_;
  const config::ResponseCachePlugin* const plugin_;  // null: none
  const routing::Plan& plan_;
  const std::chrono::milliseconds follow_max_;
  CacheControls controls_;
  std::optional<cache::Key> key_;  // none: the cache is left alone
  std::vector<float> vector_;      // (dim) of the question; empty: not known
  cache::Hit hit_;
  bool failed_ = false;
  SingleFlight::Lead lead_;
};

}  // namespace signalbox::gateway
