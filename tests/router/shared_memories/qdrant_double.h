#pragma once
// A double of Qdrant, written from the documentation of its REST interface. It was not compared
// with a real Qdrant. It holds one collection, gives pages of three points, and can fail in the
// ways of a server.

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/json.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {

class QdrantDouble {
 public:
  /// kForgets: it confirms writes and carries none out. kMixesUp: it applies no filter.
  enum class Mood {
    kWell,
    kHangsUp,
    kIsSlow,
    kTalksRubbish,
    kRefuses,
    kForgets,
    kMixesUp,
    kAcknowledges,  // it carries writes out later
  };

  QdrantDouble() : site_([this](Wire& wire, int) { serve(wire); }) {}

  uint16_t port() const { return site_.port(); }
  std::atomic<Mood> mood{Mood::kWell};
  std::string key;  // "": none is needed

  size_t points() const;
  struct Point {
    std::string vector = {};
    std::map<std::string, std::string> payload = {};  // values in JSON
  };
  using Points = std::map<std::string, Point>;
  Points save() const {
    const std::lock_guard lock(mutex_);
    return points_;
  }
  void restore(Points points) {
    const std::lock_guard lock(mutex_);
    points_ = std::move(points);
  }
  void make(int64_t dimension, std::string distance);
  void drop();
  /// Sets a member of the payload of every point that has it, to a value in JSON.
  void damage(const std::string& member, const std::string& value);

 private:
  struct Reply {
    int status = 200;
    std::string body = {};
  };
  void serve(Wire& wire);
  Reply act(std::string_view method, std::string_view path, std::string body);
  Reply upsert(const json::Value& body);
  Reply remove(const json::Value& body);
  std::string scroll(const json::Value& body) const;
  bool holds(const json::Value& condition, const std::string& id, const Point& point) const;

  mutable std::mutex mutex_;
  int64_t dimension_ = 0;  // 0: there is no collection
  std::string distance_;
  Points points_;
  Upstream site_;  // last, because it uses the members above
};

}  // namespace signalbox::test
