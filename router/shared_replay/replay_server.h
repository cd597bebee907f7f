#pragma once
// A server that keeps the records of several routers. All moments are by its own clock, so the
// clocks of the routers do not matter.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/observe/replay.h"
#include "router/shared_replay/record.h"
#include "router/stores/follower.h"

namespace signalbox::shared_replay {

/// The most shadows of a record.
inline constexpr size_t kShadowsMax = 64;
/// For this long after a deletion, the server refuses late records to which the deletion applies.
/// No record takes longer to arrive.
inline constexpr std::chrono::milliseconds kArrivesWithin{600'000};
/// Deletions are remembered for this long. If a server is restored from older data, deleted records
/// come back.
inline constexpr std::chrono::milliseconds kDeletionsLast{int64_t{60} * 86'400'000};

struct NewRecord {
  struct Body {
    std::string text = {};  // "": there is none
    bool is_cut = false;
  };
  std::string id = {}, json = {};
  std::vector<std::string> names = {};      // of its indices
  std::vector<std::string> scopes = {};     // of the deletions that would apply to it
  std::chrono::milliseconds texts_last{0};  // 0: as long as the record
  Body request = {}, response = {};

  size_t bytes() const;
  size_t longest_text() const;
};

struct RecordPage {
  uint64_t total = 0;
  std::vector<std::string> records = {};
};

struct FoundRecord {
  struct OfShadow {
    std::string json = {}, response = {};
  };
  std::string json = {};
  bool had_texts = false;
  NewRecord::Body request = {}, response = {};
  std::vector<std::string> outcomes = {};
  std::vector<OfShadow> shadows = {};
};

struct Removed {
  size_t count = 0;
  uint64_t moment = 0;      // records before it were deleted
  bool may_remain = false;  // there may be more records to delete
};

/// Thread-safe; calls block. Errors: kUpstream (the server refuses it), others if it did not answer
/// in time. The texts that it returns may have been written by any program.
class ReplayServer {
 public:
  virtual ~ReplayServer() = default;

  /// For log lines.
  virtual const std::string& name() const = 0;
  void set_limits(const observe::Replay::Limits& limits) {
    records_max_ = limits.records;
    age_max_ms_ = std::chrono::milliseconds(limits.age).count();
    all_bytes_max_ = limits.bytes;
  }
  /// `age`: since the request ended. Does nothing if the record was deleted meanwhile.
  virtual Result<void> add(const NewRecord& record, std::chrono::milliseconds age) = 0;
  /// The newest of the records with these indices.
  virtual Result<RecordPage> list(const std::vector<std::string>& names, size_t offset,
                                  size_t limit) = 0;
  virtual Result<std::optional<FoundRecord>> find(std::string_view id) = 0;
  /// Deletes some of the records to which a deletion applies; the moment 0 stands for now. If
  /// `is_first`, also announces the deletion to the feeds of all routers.
  virtual Result<Removed> remove(const Deletion& deletion, bool is_first) = 0;
  /// Returns false if there is no such record or it is full.
  virtual Result<bool> add_outcome(std::string_view id, std::string_view json) = 0;
  /// Returns false if there is no such record. `token` identifies the shadow in every attempt. A
  /// server that remembers it adds the shadow once, even if the reply to an attempt was lost.
  virtual Result<bool> add_shadow(std::string_view id, std::string_view json, std::string_view text,
                                  std::string_view token) = 0;
  /// The limit of an exchange of the feed.
  virtual std::chrono::milliseconds read_limit() const = 0;
  /// Call it once. This object must outlive the feed.
  virtual std::unique_ptr<stores::Feed> feed() = 0;

 protected:
  std::atomic<size_t> records_max_ = 1000;
  std::atomic<int64_t> age_max_ms_ = 0;
  std::atomic<uint64_t> all_bytes_max_ = 0;
};

}  // namespace signalbox::shared_replay
