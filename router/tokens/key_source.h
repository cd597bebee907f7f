#pragma once
// The keys of one issuer, read from its server or from a file and kept fresh by a thread of their
// own.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "router/config/access.h"
#include "router/tokens/key_set.h"
#include "router/upstream/poster.h"

namespace signalbox::tokens {

/// The place that keys come from. Sources with equal origins are shared.
struct KeyOrigin {
  std::string issuer;
  std::string jwks_uri;        // "": found by discovery
  std::filesystem::path file;  // "": none
  std::string tls_ca_path;
  std::chrono::milliseconds age_max{0};

  bool operator==(const KeyOrigin&) const = default;
};
KeyOrigin origin_of(const config::TokenIssuer& issuer, const std::filesystem::path& config_file);

/// Returns the time after which keys are read again, by the field Cache-Control of their reply:
/// from a minute to a day, and an hour without the field.
std::chrono::seconds lifetime_of(std::string_view cache_control);

/// Returns the address of the keys from a discovery document. Errors: kInvalid for a document of
/// another issuer, and for an address from which keys may not be read.
Result<std::string> read_discovery(std::string_view text, std::string_view issuer);

/// Thread-safe.
class KeySource {
 public:
  /// Reads the keys at once on its thread. A file is read before this returns. Errors: those of a
  /// file that cannot be read.
  static Result<std::unique_ptr<KeySource>> create(KeyOrigin origin);
  /// Like stop(), it may block on a name server that does not respond, but it holds no lock
  /// meanwhile.
  ~KeySource();

  struct Snapshot {
    std::shared_ptr<const KeySet> keys;  // null: none was read yet, or they are older than age_max
    uint64_t generation = 0;             // another one after each change of the keys
    std::string trouble;                 // why the last reading failed; "": it did not
  };
  Snapshot snapshot() const;
  /// Only the generation; 0: there are no keys.
  uint64_t generation() const;

  /// Returns true if the keys are being read. Begins to read them unless another request has done
  /// so within 30 seconds.
  bool refresh();
  /// Calls `wake` once on the source's thread when the reading in progress has ended. Returns false
  /// if none is in progress or too many wait.
  bool wait(std::function<void()> wake);
  /// Ends the thread. Nobody who waits is woken afterwards.
  void stop();

  const KeyOrigin& origin() const { return origin_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Fetched {
    std::string text;
    std::chrono::seconds lifetime;
  };
  explicit KeySource(KeyOrigin origin);
  void follow();
  std::chrono::milliseconds read();
  Result<Fetched> fetch();
  Result<Fetched> fetch_url(const std::string& url, Clock::time_point until);
  bool is_fresh() const;
  Result<void> install(std::string text);

  const KeyOrigin origin_;
  std::chrono::milliseconds retry_;

  std::unique_ptr<upstream::Poster> poster_;  // only for the thread

  mutable std::mutex mutex_;  // guards the rest
  std::shared_ptr<const KeySet> keys_;
  std::string text_;  // of the keys
  uint64_t generation_ = 0;
  Clock::time_point read_at_{};
  Clock::time_point requested_at_ = Clock::time_point::min();
  std::string trouble_;
  bool is_reading_ = true;
  bool is_requested_ = false;
  std::vector<std::function<void()>> waiters_;
  std::stop_source stop_;
  std::condition_variable wake_;
  std::thread thread_;
};

/// The sources of a process. They outlive reloads, so that a reload while an issuer is away loses
/// no keys. This object must outlive its sources; its destructor waits until they have ended.
/// Thread-safe.
class KeySources {
 public:
  /// Returns the source of that origin, a new one if nobody uses one. Errors: KeySource::create().
  Result<std::shared_ptr<KeySource>> of(const KeyOrigin& origin);
  /// Call it after the loops have stopped and before they are destroyed.
  void stop();

 private:
  void end(std::unique_ptr<KeySource> source);

  std::mutex mutex_;
  std::vector<std::weak_ptr<KeySource>> sources_;
  std::mutex ending_;                    // guards the next
  std::vector<std::future<void>> ends_;  // of sources that nobody uses
};

}  // namespace signalbox::tokens
