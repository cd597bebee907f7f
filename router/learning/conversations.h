#pragma once
// The model of each conversation: a bounded table in memory. Its keys are digests, so that
// no identifier of a client is kept.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace signalbox::learning {

using TimePoint = std::chrono::steady_clock::time_point;

/// The model that answered last, and for which decision.
struct Answerer {
  std::string model;
  std::string upstream_name;  // the model's name at its server, which may be an adapter
  std::string decision;       // with its recipe; see scope_of()
};

struct Conversation {
  Answerer last;
  uint32_t turns = 0;     // of the user, answered by this model for this decision in a row
  uint32_t switches = 0;  // earlier changes of the model
  TimePoint used = {};
};

/// The level by which several routers share their conversations. Thread-safe, and does not block.
class SharedConversations {
 public:
  virtual ~SharedConversations() = default;
  virtual void changed(const std::string& key, const Conversation& conversation) = 0;
  virtual void forgotten(const std::string& key) = 0;
};

/// Thread-safe. Lives as long as the process. The conversations that were used last push the others
/// out.
class Conversations {
 public:
  static constexpr size_t kCountMax = 65'536;
  static constexpr std::chrono::seconds kLifetime{86'400};

  explicit Conversations(size_t count_max = kCountMax) : count_max_(count_max) {}

  /// The time for which a conversation is kept after its last request.
  void set_lifetime(std::chrono::seconds lifetime);
  std::chrono::seconds lifetime() const;

  std::optional<Conversation> find(const std::string& key, TimePoint now);
  /// Replaces what is kept under the key.
  void put(const std::string& key, Conversation conversation);
  /// Counts the idle time from now on.
  void touch(const std::string& key, TimePoint now);
  void forget(const std::string& key);
  size_t size() const;

  using Entry = std::pair<std::string, Conversation>;
  /// Each change from now on goes to `below`, too. Null: to none, from now on.
  void share(SharedConversations* below) { below_ = below; }
  // Changes of other routers. They do not go to the shared level.
  /// Keeps the conversation, unless what is known was used later.
  void learn(const std::string& key, Conversation conversation, TimePoint now);
  void unlearn(const std::string& key);
  /// By last use, the oldest first.
  std::vector<Entry> all() const;

 private:
  void prune(TimePoint now);
  void keep(const std::string& key, Conversation conversation);

  const size_t count_max_;
  std::atomic<SharedConversations*> below_ = nullptr;
  mutable std::mutex mutex_;
  std::chrono::seconds lifetime_ = kLifetime;
  using Entries = std::multimap<TimePoint, Entry>;
  Entries entries_;  // by last use
  std::unordered_map<std::string, Entries::iterator> by_key_;
};

}  // namespace signalbox::learning
