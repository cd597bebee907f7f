// Gives the follower access to the stored deletions of all routers.

#include <charconv>
#include <utility>

#include "router/shared_memories/store.h"

namespace signalbox::shared_memories {

std::string RedisMemories::learn(const std::vector<std::string>& entry) {
  if (entry.size() != 6) return {};
  const bool is_all = entry[3].empty();
  const Deletion deletion = read_deletion(entry[1] + " " + (is_all ? entry[5] : entry[3]));
  if (deletion.owner.empty()) return {};
  learn(deletion);
  return deletion.name();
}

// Reads the clock from its key, because the stream may lack the newest deletion.
Result<std::vector<NamedDeletion>> RedisMemories::deletions() {
  const std::string key = key_of("clock", "");
  SIGNALBOX_TRY(const RedisValue clock, redis_.run({"GET", key}, options_.read_limit));
  uint64_t moment = 0;
  std::from_chars(clock.text.data(), clock.text.data() + clock.text.size(), moment);
  if (moment > moment_ && moment <= kMomentMax) moment_ = moment;
  const std::lock_guard lock(mutex_);
  return journal_.deletions(to_ms(TimePoint::clock::now()));
}

void RedisMemories::learn(const Deletion& deletion) {
  uint64_t known = moment_;
  while (known < deletion.moment && !moment_.compare_exchange_weak(known, deletion.moment)) {
  }
  {
    const std::lock_guard lock(mutex_);
    if (!journal_.learn(deletion, to_ms(TimePoint::clock::now()))) return;
    known_.keep(deletion.owner, nullptr);  // Redis may return with the version of this
  }
  // Drop all copies of the user; those of newer memories are read again.
  if (deletion.id.empty()) {
    static_cast<void>(copies_.forget_all(deletion.owner));
  } else {
    static_cast<void>(copies_.forget(deletion.owner, deletion.id));
    queue_.forget(deletion.id);
  }
}

Result<void> RedisMemories::delete_again(std::span<const NamedDeletion> deletions) {
  for (const auto& [name, until_ms] : deletions) {
    const Deletion next = read_deletion(name);
    if (next.id.empty()) {
      SIGNALBOX_TRY_VOID(delete_all(next));
    } else {
      SIGNALBOX_TRY_VOID(delete_one(next, true));
    }
  }
  return {};
}

std::vector<stores::LostRecord> RedisMemories::records() {
  std::vector<stores::LostRecord> out;
  const std::lock_guard lock(mutex_);
  for (const WrittenPointer& memory : journal_.memories()) {
    out.push_back({key_of("m:", memory->id), memory->bytes(), [this, memory] {
                     if (!is_deleted(memory->owner, memory->id, memory->entry.moment))
                       queue(memory);
                   }});
  }
  return out;
}

}  // namespace signalbox::shared_memories
