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

#include "router/observe/account.h"

namespace signalbox::observe {

/// Thread-safe. Lives as long as the process. The newest records push the oldest out. The texts of
/// a record may have a shorter life than the record; nobody can read them afterwards, and their
/// memory is freed at the next use of this object.
class Replay {
 public:
  /// The most bytes of all records together, including their bodies.
  static constexpr size_t kBytesMax = 64 << 20;

  void set_limits(size_t records_max, std::chrono::seconds age_max);  // age 0: no limit

  /// Adds a record and takes the account's bodies. Precondition: account.replay_id is not empty.
  void add(Account& account);

  struct Query {
    size_t limit = 100;
    size_t offset = 0;
    std::string_view decision = {}, model = {}, user = {}, key = {};  // "": any
  };
  /// Returns {"object":"router_replay.list","count":N,"total":N,"data":[...]}, the newest first,
  /// without bodies.
  std::string list_json(const Query& query);
  /// Returns one record with its bodies.
  std::optional<std::string> find_json(std::string_view id);
  /// Deletes the records of a user, of a client's key, or of both; all of them if both are "".
  /// Returns their number. Requests that are still running are recorded when they end.
  size_t remove(std::string_view user, std::string_view key);
  size_t size();

  /// The recipe, the decision and the model that a request was answered by.
  struct Answered {
    std::string recipe, decision, model;
  };
  std::optional<Answered> answered(std::string_view id);
  /// The most outcomes of one record.
  static constexpr size_t kOutcomesMax = 16;
  /// Adds what was reported about the answer, as JSON. Returns false if there is no such record, or
  /// if it is full.
  bool add_outcome(std::string_view id, std::string_view json);
  /// Adds a shadow to the record of its request, if that is still there. Shadows are few: the
  /// configuration bounds them.
  void add_shadow(const Shadow& shadow);

 private:
  struct ShadowText {
    std::string members;  // JSON without the enclosing braces
    std::string response;
  };
  struct Record {
    std::string id, recipe, decision, model, user, key;
    std::chrono::system_clock::time_point at;
    std::string members;  // JSON without the enclosing braces
    std::string request_body, response_body;
    bool request_cut, response_cut;
    std::chrono::seconds body_age_max;  // 0: no limit
    std::string outcomes;               // JSON without the enclosing brackets
    size_t outcome_count;
    std::vector<ShadowText> shadows = {};
    bool bodies_expired = false;

    size_t bytes() const;
    bool has_bodies() const;
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
  /// No text expires before.
  std::chrono::system_clock::time_point bodies_due_ = std::chrono::system_clock::time_point::max();
};

/// Returns the members that a request's log line and its record share: ids, decision, model,
/// status, durations.
std::string account_json(const Account& account);

}  // namespace signalbox::observe
