#pragma once
// The newest memories that this router has written, in case the server loses them, and the
// deletions that it knows, in case the server returns with older data.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/recently_used.h"
#include "router/memories/memories.h"
#include "router/shared_memories/record.h"
#include "router/stores/deletions.h"

namespace signalbox::shared_memories {

/// The time for which routers remember a deletion. If a server is restored from older data, deleted
/// memories come back.
inline constexpr int64_t kDeletionMs = int64_t{60} * 86'400'000;

/// A memory on its way to the server.
struct Written {
  std::string owner = {}, id = {};
  IndexEntry entry = {};
  std::string record = {};

  size_t bytes() const { return owner.size() + id.size() + record.size() + sizeof(Written); }
};
using WrittenPointer = std::shared_ptr<const Written>;

/// One memory, or all that began before a moment.
struct Deletion {
  std::string owner = {}, id = {};  // id "": all
  uint64_t moment = 0;

  std::string name() const;
};
/// Reads name(). An unknown form gives a deletion without an owner.
Deletion read_deletion(std::string_view name);

/// One thread at a time. When it is full, it forgets the oldest.
class Journal {
 public:
  explicit Journal(size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Does not keep a memory whose deletion is known.
  void add(WrittenPointer memory);
  /// Returns whether the deletion is new.
  bool learn(const Deletion& deletion, int64_t now_ms);
  bool is_deleted(std::string_view owner, std::string_view id, uint64_t moment) const;
  /// The names and ends of the deletions that are not too old to matter.
  std::vector<std::pair<std::string, int64_t>> deletions(int64_t now_ms) const;
  /// The memories, oldest first.
  std::vector<WrittenPointer> memories() const;

 private:
  void drop(const std::string& id);

  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<std::string, WrittenPointer, std::less<>> by_id_;
  std::deque<std::string> in_order_;  // ids, also of memories that were dropped
  stores::Deletions deletions_;
  mutable RecentlyUsed<uint64_t> forgetters_{stores::Deletions::kMax};
};

}  // namespace signalbox::shared_memories
