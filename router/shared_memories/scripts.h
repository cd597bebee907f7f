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
/// id, and "1" if it is deleted again after Redis may have lost that. Returns 1 if it was there.
std::string_view forget_script();
/// A moment, or "0" for a new one. Deletes what began before. Returns the number of memories and
/// the moment.
std::string_view forget_all_script();

}  // namespace signalbox::shared_memories
