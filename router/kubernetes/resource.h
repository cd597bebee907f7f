#pragma once
// Resources of an API server as they come over the wire: pages of a list, and events of a watch.
// What is foreign is bounded in bytes, depth and number, and no more of it is kept than routing is
// made of.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"

namespace signalbox::kubernetes {

/// Bytes of a page, and of an event; more of them ends the exchange.
inline constexpr size_t kPageBytesMax = size_t{16} << 20;
inline constexpr size_t kEventBytesMax = size_t{4} << 20;

/// What the server has been told of a resource before.
struct Condition {
  bool is_there = false;
  std::string status;  // "True" or "False"
  std::string reason, message;
  int64_t generation = 0;

  bool operator==(const Condition&) const = default;
};

struct Resource {
  std::string name;
  int64_t generation = 0;  // changes with the spec, and not with the status
  yaml::Node spec;
  Condition ready;
};

struct Page {
  std::string version;  // of the whole list
  std::string more;     // "": this was the last page
  std::vector<Resource> items;
};

/// Errors: kInvalid, kTooLarge.
Result<Page> read_page(std::string body);

enum class Happened : uint8_t { kSet, kGone, kBookmark, kError };

struct Event {
  Happened what = Happened::kSet;
  std::string version;
  Resource resource;    // of kSet; of kGone the name only
  int64_t code = 0;     // of kError: an HTTP status
  std::string message;  // of kError
};

/// One line of a watch. Errors: kInvalid, kTooLarge.
Result<Event> read_event(std::string line);

}  // namespace signalbox::kubernetes
