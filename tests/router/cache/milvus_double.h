#pragma once
// A double of Milvus, written from the documentation of its REST interface. It was not compared
// with a real Milvus. It holds one collection, checks requests against the schema, returns rows in
// no useful order, and can show them with a delay. It can also fail in all the ways of a server.

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {

class MilvusDouble {
 public:
  /// kForgets: it confirms writes and carries none out. kMixesUp: it applies no filter.
  enum class Mood {
    kWell,
    kHangsUp,
    kIsSlow,
    kTalksRubbish,
    kFloods,
    kRefuses,
    kForgets,
    kMixesUp
  };
  using Row = std::map<std::string, std::string>;  // values as JSON

  MilvusDouble() : site_([this](Wire& wire, int) { serve(wire); }) {}

  uint16_t port() const { return site_.port(); }
  /// Returns the reply to a request for a target, for tests that have a connection of their own.
  std::string answer(std::string_view target, std::string body);

  std::atomic<Mood> mood{Mood::kWell};
  std::atomic<int> asked{0};
  std::atomic<int64_t> late_ms{0};           // delay until a write becomes visible
  std::atomic<bool> numbers_as_text{false};  // returns Int64 as text, as some versions do
  std::string token;                         // "user:password"; "": no authentication
  std::string database;                      // the database that requests must name

  /// The collection's fields, by name with their types. Empty if there is no collection.
  std::map<std::string, std::string> fields() const;
  void set_fields(std::map<std::string, std::string> fields);
  /// Sets the consistency level in the description of the collection.
  void set_level(std::string level);
  size_t rows() const;
  using Rows = std::map<std::string, Row>;
  Rows save() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  void restore(Rows rows) {
    const std::lock_guard lock(mutex_);
    rows_ = std::move(rows);
  }
  void put(const std::string& id, Row row);
  void erase(const std::string& id_prefix);
  void drop();

 private:
  struct Change {
    std::chrono::steady_clock::time_point seen;
    std::string id;
    std::optional<Row> row;  // nullopt: deleted
  };
  void serve(Wire& wire);
  std::string act(std::string_view path, const json::Value& body);
  std::string create(const json::Value& body);
  std::string describe() const;
  std::string upsert(const json::Value& body);
  std::string remove(const std::string& filter);
  std::string query(const json::Value& body);
  std::string get(const json::Value& body);
  std::string rows_as_json(const std::vector<std::string>& ids, const json::Value& body) const;
  void change(const std::string& id, std::optional<Row> row);
  void show();
  void show_until(std::chrono::steady_clock::time_point now);
  bool is_shown(const std::string& filter, const std::string& id, const Row& row) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> fields_;
  bool loaded_ = false;
  int64_t dimension_ = 0;  // of vectors
  std::string level_, metric_;
  Rows rows_;
  std::vector<Change> changes_;
  Upstream site_;  // last, because it uses the members above
};

}  // namespace signalbox::test
