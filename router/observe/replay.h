#pragma once
// The most recent requests and their decisions, for people who want to know why. A record contains
// the fields of the log line and more. It contains text of users and models only if a configuration
// requests that.

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/observe/account.h"

namespace signalbox::observe {

/// Thread-safe. Lives as long as the process. The newest records push the oldest out. The texts of
/// a record may have a shorter life than the record; nobody can read them afterwards.
///
/// Errors: kUpstream if the records are in a store that does not respond now.
class Replay {
 public:
  virtual ~Replay() = default;

  /// An age or bytes of 0: no limit.
  struct Limits {
    size_t records = 1000;
    std::chrono::seconds age{0};
    uint64_t bytes = 0;  // of records that several routers share
  };
  virtual void set_limits(const Limits& limits) = 0;

  /// Adds a record and takes the account's bodies. Does not block. Precondition: account.replay_id
  /// is not empty.
  virtual void add(Account& account) = 0;

  struct Query {
    size_t limit = 100;
    size_t offset = 0;
    std::string_view decision = {}, model = {}, user = {}, key = {};  // "": any
  };
  /// Returns {"object":"router_replay.list","count":N,"total":N,"data":[...]}, the newest first,
  /// without bodies.
  virtual Result<std::string> list_json(const Query& query) = 0;
  /// Returns one record with its bodies.
  virtual Result<std::optional<std::string>> find_json(std::string_view id) = 0;
  /// Deletes the records of a user, of a client's key, or of both; all of them if both are "".
  /// Returns their number. Requests that are still running are recorded when they end.
  virtual Result<size_t> remove(std::string_view user, std::string_view key) = 0;
  virtual size_t size() = 0;

  /// The recipe, the decision and the model that a request was answered by, and the request as
  /// learning saw it.
  struct Answered {
    std::string recipe, decision, model, features = {};
  };
  virtual Result<std::optional<Answered>> answered(std::string_view id) = 0;
  /// The most outcomes of one record.
  static constexpr size_t kOutcomesMax = 16;
  /// Adds what was reported about the answer, as JSON. Returns false if there is no such record, or
  /// if it is full.
  virtual Result<bool> add_outcome(std::string_view id, std::string_view json) = 0;
  /// Adds a shadow to the record of its request, if that is still there. Does not block. Shadows
  /// are few: the configuration bounds them.
  virtual void add_shadow(const Shadow& shadow) = 0;

  /// The state of a store that several routers share.
  struct Shared {
    bool works = true;  // it responds and accepts new records
    uint64_t waiting = 0, written = 0, refused = 0, dropped = 0;
  };
  virtual std::optional<Shared> shared() const { return std::nullopt; }
};

/// The texts of a record.
struct RecordTexts {
  struct OfShadow {
    std::string json;  // an object
    std::string response = {};
  };
  std::string json = {};  // an object: the record as a list has it
  std::string request_body = {}, response_body = {};
  bool request_cut = false, response_cut = false;
  std::string outcomes = {};  // JSON without the enclosing brackets
  std::vector<OfShadow> shadows = {};
  bool bodies_expired = false;

  bool has_bodies() const;
};
/// The record as an object with everything.
std::string detail_json(const RecordTexts& texts);
/// The record of a request, and a shadow without its answer, as objects.
std::string record_json(const Account& account);
std::string shadow_json(const Shadow& shadow);

/// Keeps records in memory. An expired text is freed the next time this object is used.
class LocalReplay final : public Replay {
 public:
  /// The most bytes of all records together, including their bodies.
  static constexpr size_t kBytesMax = 64 << 20;

  void set_limits(const Limits& limits) override;
  void add(Account& account) override;
  Result<std::string> list_json(const Query& query) override;
  Result<std::optional<std::string>> find_json(std::string_view id) override;
  Result<size_t> remove(std::string_view user, std::string_view key) override;
  size_t size() override;
  Result<std::optional<Answered>> answered(std::string_view id) override;
  Result<bool> add_outcome(std::string_view id, std::string_view json) override;
  void add_shadow(const Shadow& shadow) override;

 private:
  struct Record : RecordTexts {
    std::string id, recipe, decision, model, features, user, key;
    std::chrono::system_clock::time_point at;
    std::chrono::seconds body_age_max;  // 0: no limit
    size_t outcome_count = 0;

    size_t bytes() const;
  };
  Record* find(std::string_view id);
  void prune(std::chrono::system_clock::time_point now);
  void expire_bodies(Record& record, std::chrono::system_clock::time_point now);
  void note_expiry(const Record& record);

  std::mutex mutex_;
  std::deque<Record> records_;  // oldest first
  size_t bytes_ = 0;
  size_t records_max_ = 1000;
  std::chrono::seconds age_max_{0};
  std::chrono::system_clock::time_point bodies_checked_;
  /// The earliest time at which a text expires.
  std::chrono::system_clock::time_point bodies_due_ = std::chrono::system_clock::time_point::max();
};

/// Returns the members that a request's log line and its record share: ids, decision, model,
/// status, durations.
std::string account_json(const Account& account);

}  // namespace signalbox::observe
