#pragma once
// The bytes of memories in Redis. Any program may have written them, so both readers refuse
// everything that no router writes.
//
// A record is "SBM1", the time at which the memory was created (64 bits, milliseconds since 1970),
// the number of values of its vector and the lengths of its five texts (32 bits each), the values
// (32 bits each), and the texts: owner, mask, embedding model, the user's text, answer. Numbers
// have their least significant byte first.
//
// An entry of a user's index is five numbers, with a space between them: when the memory was
// created and last used (milliseconds since 1970), how often it was used, the digest of its text
// (16 hexadecimal digits), and the moment at which its turn began.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/memories/memories.h"

namespace signalbox::shared_memories {

inline constexpr size_t kRecordBytesMax = size_t{256} << 10;
inline constexpr size_t kValuesMax = 16'384;  // of a vector
/// The greatest moment, because scripts compute with doubles.
inline constexpr uint64_t kMomentMax = uint64_t{1} << 53;

/// The latest time, in the year 2223. The clock counts nanoseconds in 64 bits, and a lifetime is
/// added.
inline constexpr int64_t kMsMax = 8'000'000'000'000;

/// The part of a memory that never changes.
struct Record {
  std::string owner;  // the digest of the user's name
  memories::Memory memory;
  memories::Vector vector;
};

/// The id, `used` and `uses` are not a part of it.
std::string write_record(const Record& record);
/// Errors: kCorrupt, also for a vector without a direction.
Result<Record> read_record(std::string_view bytes);
/// Errors: kInvalid for a vector that is empty, zero, not finite or too long.
Result<void> check_vector(const memories::Vector& vector);

struct IndexEntry {
  memories::TimePoint created = {}, used = {};  // whole milliseconds
  uint32_t uses = 0;
  std::string digest = {};
  uint64_t moment = 0;

  bool operator==(const IndexEntry&) const = default;
};
std::string write_entry(const IndexEntry& entry);
/// Errors: kCorrupt.
Result<IndexEntry> read_entry(std::string_view bytes);

/// "mem_" and 32 hexadecimal digits.
bool is_memory_id(std::string_view id);
/// The name of a user in Redis, 64 hexadecimal digits.
std::string owner_of(std::string_view user);
bool is_owner(std::string_view name);
/// The digest of a memory's text, which its entry has.
std::string digest_of(std::string_view text);

int64_t to_ms(memories::TimePoint time);
memories::TimePoint from_ms(int64_t ms);

}  // namespace signalbox::shared_memories
