#pragma once
// An entry as bytes, for files and for servers that keep answers. Times are those of the wall
// clock, since the steady one is of one process.

#include <chrono>
#include <string>
#include <string_view>

#include "router/cache/store.h"
#include "router/vector_index/snapshot.h"

namespace signalbox::cache {

/// Both clocks at one time.
struct Clocks {
  TimePoint steady;
  std::chrono::system_clock::time_point wall;
};
Clocks clocks_now();

void append_entry(std::string& out, const Entry& entry, const Clocks& now);
/// Takes one off the front. Errors: kCorrupt.
Result<Entry> take_entry(vector_index::SnapshotReader& in, const Clocks& now);

/// An entry alone, under a version. Errors: kCorrupt; kUnsupported for another version.
std::string to_bytes(const Entry& entry, const Clocks& now);
Result<Entry> from_bytes(std::string_view bytes, const Clocks& now);

}  // namespace signalbox::cache
