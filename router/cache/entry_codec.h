#pragma once
// Serialises an entry for files and for servers that store answers. Times are stored as wall-clock
// times, since the steady clock is valid in one process only.

#include <chrono>
#include <string>
#include <string_view>

#include "router/cache/store.h"
#include "router/vector_index/snapshot.h"

namespace signalbox::cache {

/// The readings of both clocks at one moment.
struct Clocks {
  TimePoint steady;
  std::chrono::system_clock::time_point wall;
};
Clocks clocks_now();

void append_entry(std::string& out, const Entry& entry, const Clocks& now);
/// Removes one entry from the front. Errors: kCorrupt.
Result<Entry> take_entry(vector_index::SnapshotReader& in, const Clocks& now);

/// A single entry, preceded by a version. Errors: kCorrupt; kUnsupported for another version.
std::string to_bytes(const Entry& entry, const Clocks& now);
Result<Entry> from_bytes(std::string_view bytes, const Clocks& now);

}  // namespace signalbox::cache
