#pragma once
// Keeps the current state of one kind of resource by a list and a watch that continues from it. It
// uses no socket and no clock: next() returns the next request and the pause before it, and the
// caller reports the outcome, so that tests are scenarios in data files.
//
// A list is read in pages. A watch continues from the last version that it has seen; bookmarks
// advance that version while nothing changes. If the server no longer knows the version (410),
// everything is listed again. A failed step is repeated with a pause that doubles each time, up to
// half a minute.

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

/// For one thread only.
class Reflector {
 public:
  struct Step {
    bool is_watch = false;
    std::string query;  // "?limit=..."
    std::chrono::milliseconds pause{0};
  };
  /// Returns the next step. `draw`, a random number in [0, 1), varies the pause, so that routers
  /// that lost a server at the same moment do not all return at once.
  Step next(double draw) const;

  /// Reports a reply to a list.
  void listed(int status, std::string body);
  /// Reports the beginning of a reply to a watch. Returns false if it is an error reply, without
  /// events to read.
  bool watching(int status, std::string_view reason);
  /// Reports a line of a watch. Returns false if the watch must be given up.
  bool received(std::string line);
  /// Reports the end of a watch's reply.
  void ended();
  /// Reports that there was no reply, or that it broke off.
  void failed(std::string_view why);

  /// The resources by name; empty until is_complete().
  const std::map<std::string, Resource>& resources() const { return resources_; }
  bool is_complete() const { return is_complete_; }
  /// Changes only if the specs of the resources change.
  uint64_t changes() const { return changes_; }
  /// Why the last step failed; "" if it succeeded.
  const std::string& trouble() const { return trouble_; }

 private:
  void restart();
  void upsert(Resource resource);
  void clear_failures();

  std::map<std::string, Resource> resources_, gathered_;  // gathered_: the pages of a list so far
  std::string version_, more_, trouble_;
  bool is_complete_ = false;
  bool is_watching_ = false;  // false: it lists
  bool has_read_ = false;     // an event of this watch
  uint32_t failures_ = 0;     // in a row
  uint64_t changes_ = 0;
};

}  // namespace signalbox::kubernetes
