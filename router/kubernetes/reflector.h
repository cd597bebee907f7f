#pragma once
// What one kind of resource looks like at the moment, kept up to date by a list and a watch from
// there on. No socket and no clock: the reflector says what to ask and after which pause, and is
// told what came of it, so that its tests are stories in data.
//
// A list is read in pages. A watch goes on from the last version it has seen, which bookmarks move
// on while nothing happens; when the server does not know that version any longer (410), everything
// is listed anew. What fails is tried again, each time twice as long after, up to half a minute.

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

/// One thread's alone.
class Reflector {
 public:
  struct Step {
    bool is_watch = false;
    std::string query;  // "?limit=..."
    std::chrono::milliseconds pause{0};
  };
  /// `draw` in [0, 1): routers that have lost a server together come back one after the other.
  Step next(double draw) const;

  /// A list's answer.
  void listed(int status, std::string body);
  /// A watch's answer has begun. False: it is not one, and there is nothing to read.
  bool watching(int status, std::string_view reason);
  /// A line of a watch. False: it is of no more use.
  bool told(std::string line);
  /// The watch's answer is at its end.
  void ended();
  /// There was no answer, or it broke off.
  void failed(std::string_view why);

  /// By name; of nothing yet until is_complete().
  const std::map<std::string, Resource>& resources() const { return resources_; }
  bool is_complete() const { return is_complete_; }
  /// Changes with the specs of the resources and with nothing else.
  uint64_t changes() const { return changes_; }
  /// Why the last step failed; "" when it did not.
  const std::string& trouble() const { return trouble_; }

 private:
  void begin_anew();
  void take(Resource resource);
  void went_well();

  std::map<std::string, Resource> resources_, gathered_;  // the latter: pages of a list until now
  std::string version_, more_, trouble_;
  bool is_complete_ = false;
  bool watches_ = false;   // otherwise it lists
  bool has_read_ = false;  // of this watch
  uint32_t failures_ = 0;  // in a row
  uint64_t changes_ = 0;
};

}  // namespace signalbox::kubernetes
