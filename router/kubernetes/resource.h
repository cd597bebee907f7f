#pragma once
// Parses the resources of an API server: pages of a list, and events of a watch. Foreign input is
// limited in bytes, depth and number, and only the parts that routing needs are kept.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"

namespace signalbox::kubernetes {

/// The most bytes of a page and of an event; a longer one ends the exchange.
inline constexpr size_t kPageBytesMax = size_t{16} << 20;
inline constexpr size_t kEventBytesMax = size_t{4} << 20;

/// The Ready condition in a resource's status.
struct Condition {
  bool is_there = false;
  std::string status;  // "True" or "False"
  std::string reason, message;
  int64_t generation = 0;

  bool operator==(const Condition&) const = default;
};

struct Resource {
  std::string name;
  int64_t generation = 0;  // changes with the spec but not with the status
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
  Resource resource;    // for kSet; for kGone only its name
  int64_t code = 0;     // for kError: an HTTP status
  std::string message;  // for kError
};

/// Parses one line of a watch. Errors: kInvalid, kTooLarge.
Result<Event> read_event(std::string line);

}  // namespace signalbox::kubernetes
