#pragma once
// The steps in Redis. A script gets the prefix of all keys as KEYS, and the words below as ARGV.

#include <string_view>

namespace signalbox::shared_replay {

/// id, record, names of its indices, scopes of deletions that would apply to it, age (ms), lifetime
/// (ms, 0: none), most records, lifetime of texts (ms, 0: that of the record), most bytes of all
/// records (0: no limit), then names and values of bodies. Returns 1, or 0 if the record was
/// deleted meanwhile.
std::string_view add_script();
/// lifetime (ms), offset, limit, then names of indices. Returns the number of all, and the records.
std::string_view list_script();
/// id. Returns nil, or the record, "1" if it had texts, its bodies, its outcomes, its shadows, and
/// the shadows' texts.
std::string_view find_script();
/// A moment (0: now), "1" to announce the deletion, its scope, the most records at once, then names
/// of indices. Returns the number of deleted records, the moment, and the number of those found.
std::string_view remove_script();
/// id, outcome. Returns 1, or 0 if there is no such record or it is full.
std::string_view outcome_script();
/// id, shadow, its text. Returns 1, or 0 if there is no such record.
std::string_view shadow_script();

}  // namespace signalbox::shared_replay
