#pragma once
// The scripts that change memories in Redis. Redis runs each as one step. A script gets the prefix
// of all keys and the owner as KEYS, and the words below as ARGV.

#include <string_view>

namespace signalbox::shared_memories {

/// id, record, entry, moment, digest, lifetime (ms), now (ms), then what Retention::words() returns
/// and the most memories of a user. Returns 1, or 0 if the memory has been deleted meanwhile.
std::string_view add_script();
/// now (ms), Retention::words(), and ids.
std::string_view use_script();
/// id, and "1" to repeat a deletion that Redis may have lost. Returns 1 if the memory was there.
std::string_view forget_script();
/// A moment, or "0" for a new one. Deletes the memories whose turns began before it. Returns the
/// number of memories and the moment.
std::string_view forget_all_script();

}  // namespace signalbox::shared_memories
