#pragma once
// The names and texts of records on a server. Any program may have written them, so the readers
// refuse everything that no router writes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/observe/replay.h"

namespace signalbox::shared_replay {

/// The limit of one text: a record without its bodies, a body, a shadow or an outcome.
inline constexpr size_t kTextBytesMax = size_t{256} << 10;
/// The greatest moment, because scripts compute with doubles.
inline constexpr uint64_t kMomentMax = uint64_t{1} << 53;

/// "replay-" and 16 hexadecimal digits.
bool is_record_id(std::string_view id);

/// The properties by which records are listed and deleted.
enum class Property : char { kDecision = 'd', kModel = 'm', kUser = 'u', kKey = 'k' };
/// The name of the index of all records with that value: the property's letter and a digest.
std::string index_name(Property property, std::string_view value);

/// A deletion of all records that are older than a moment and listed in both indices. "" stands for
/// any index.
struct Deletion {
  std::string user = {}, key = {};  // names of indices
  uint64_t moment = 0;              // milliseconds since 1970, by the clock of the server

  /// The names of the indices: "*", USER, KEY, or USER+KEY.
  std::string scope() const;
  std::vector<std::string> indices() const;
  /// The moment, a space and the scope.
  std::string name() const;
};
/// Reads name(). An unknown form gives a deletion with the moment 0.
Deletion read_deletion(std::string_view name);

/// Returns a random token, by which the server recognises a write that arrives twice.
std::string new_token();

/// Returns a JSON object without space around it. Errors: kCorrupt for anything else, also for an
/// object without members.
Result<std::string> read_object(std::string_view text);
/// Reads record_json(). Errors: those of read_object().
Result<observe::Replay::Answered> read_answered(std::string_view text);

}  // namespace signalbox::shared_replay
