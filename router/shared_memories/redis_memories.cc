// The functions for requests. Each reads what Redis has now, and none waits for a write.

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "router/shared_memories/retention.h"
#include "router/shared_memories/scripts.h"
#include "router/shared_memories/store.h"
#include "router/stores/redis_config.h"

namespace signalbox::shared_memories {
namespace {

using Words = std::deque<std::string>;  // commands have views of them

/// Less than a deletion is remembered, see scripts.cc.
constexpr std::chrono::hours kWaitsMax{12};

tl::unexpected<Error> unreadable() {
  return fail(Code::kUpstream, "the store of memories, which routers share, does not respond");
}

tl::unexpected<Error> not_deleted() {
  return fail(Code::kUpstream,
              "nothing is deleted, because the store of memories, which routers share, takes no "
              "changes now");
}

}  // namespace

void RedisMemories::set_limits(const MemoryLimits& limits) {
  // The user's index decides what is over, and a copy has no say.
  MemoryLimits of_copies = limits;
  of_copies.of_user = limits.total;
  of_copies.retention_min = 0;
  copies_.set_limits(of_copies);
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  ++limits_number_;
}

Result<RedisValue> RedisMemories::run(std::string_view script, std::string_view owner,
                                      std::span<const std::string> words) {
  Command command{"EVAL", script, "2", options_.prefix, owner};
  command.insert(command.end(), words.begin(), words.end());
  return redis_.run(command, options_.write_limit);
}

tl::unexpected<Error> RedisMemories::hidden(const Error& error, tl::unexpected<Error> shown) {
  // If it does not answer, the thread that follows logs that.
  if (error.code == Code::kUpstream && !refusal_logged_.exchange(true))
    log::warn("memory", "{}: {}", kSection, error.message);
  return shown;
}

Result<KnownPointer> RedisMemories::read_index(const std::string& owner, TimePoint now) {
  if (!follower_.is_readable()) return unreadable();
  const std::string key = key_of("u:", owner);
  const auto version = redis_.run({"HGET", key, "v"}, options_.read_limit);
  if (!version) return hidden(version.error(), unreadable());
  refusal_logged_ = false;
  const auto known = known_.find(owner);
  const Known* const before = known ? known->get() : nullptr;
  if (before != nullptr && version->is_text() && before->version == version->text &&
      now >= before->since && now < before->until) {
    const std::lock_guard lock(mutex_);
    if (before->limits == limits_number_) return *known;
  }
  return read_whole_index(owner, key, now);
}

Result<KnownPointer> RedisMemories::read_whole_index(const std::string& owner,
                                                     const std::string& key, TimePoint now) {
  const auto all = redis_.run({"HGETALL", key}, options_.read_limit);
  if (!all) return hidden(all.error(), unreadable());
  auto out = std::make_shared<Known>();
  const std::lock_guard lock(mutex_);
  out->limits = limits_number_;
  for (size_t i = 0; i + 1 < all->items.size(); i += 2)
    add_to_index(owner, all->items[i].text, all->items[i + 1].text, now, *out);
  known_.keep(owner, out, out->bytes());
  return out;
}

// Precondition: the lock is held. A memory that this router knows to be deleted is left out,
// because Redis may have returned with older data.
void RedisMemories::add_to_index(const std::string& owner, const std::string& id,
                                 std::string_view bytes, TimePoint now, Known& to) const {
  if (id == "v") to.version = bytes;
  if (!is_memory_id(id)) return;
  const auto entry = read_entry(bytes);
  if (!entry || journal_.is_deleted(owner, id, entry->moment)) return;
  const TimePoint end = Retention(limits_).end_of(*entry);
  if (end <= now) {
    to.since = std::max(to.since, end);
    return;
  }
  to.until = std::min(to.until, end);
  to.index.emplace(id, *entry);
}

Result<std::vector<std::pair<std::string, Record>>> RedisMemories::read_records(
    const std::string& owner, std::span<const std::string> ids) {
  std::vector<std::pair<std::string, Record>> out;
  if (ids.empty()) return out;
  Words words;
  Command command{"MGET"};
  for (const std::string& id : ids) command.push_back(words.emplace_back(key_of("m:", id)));
  const auto all = redis_.run(command, options_.read_limit);
  if (!all) return hidden(all.error(), unreadable());
  for (size_t i = 0; i < std::min(ids.size(), all->items.size()); ++i) {
    if (!all->items[i].is_text()) continue;  // it has expired or was deleted meanwhile
    auto record = read_record(all->items[i].text);
    if (record && record->owner != owner)
      record = fail(Code::kCorrupt, "a memory in the index of a user belongs to another user");
    if (record) {
      record->memory.id = ids[i];
      out.emplace_back(ids[i], *std::move(record));
    } else if (!damage_logged_.exchange(true)) {
      log::warn("memory", "{}: {}; it is not used", redis_.name(), record.error().message);
    }
  }
  return out;
}

// Removes copies of what is not in the index, and adds those that are missing.
Result<void> RedisMemories::copy(const std::string& owner, const Known& known, TimePoint now) {
  if (known.copied == copies_.count(owner)) return {};
  const Index& index = known.index;
  const std::vector<std::string> copied = copies_.ids(owner);
  for (const std::string& id : copied) {
    if (!index.contains(id)) static_cast<void>(copies_.forget(owner, id));
  }
  std::vector<std::string> missing;
  for (const auto& [id, entry] : index) {
    if (!std::ranges::binary_search(copied, id)) missing.push_back(id);
  }
  for (size_t i = 0; i < missing.size(); i += kAtOnce) {
    const std::span<const std::string> part(missing.data() + i,
                                            std::min(kAtOnce, missing.size() - i));
    SIGNALBOX_TRY(auto records, read_records(owner, part));
    for (auto& [id, record] : records) {
      // A vector of another length than those of its model compares with none.
      static_cast<void>(copies_.keep(owner, std::move(record.memory), record.vector, now));
    }
  }
  known.copied = copies_.count(owner);
  return {};
}

Result<std::vector<Found>> RedisMemories::search(std::string_view user,
                                                 const memories::Vector& vector, size_t most,
                                                 double similarity_min,
                                                 const memories::WordQuery* words, TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  SIGNALBOX_TRY_VOID(copy(owner, *known, now));
  const Index& index = known->index;
  SIGNALBOX_TRY(auto found, copies_.search(owner, vector, most, similarity_min, words, now));
  // Another thread may have added copies by an older index.
  std::erase_if(found, [&](const Found& each) { return !index.contains(each.memory.id); });
  for (Found& each : found) {
    const IndexEntry& entry = index.find(each.memory.id)->second;
    each.memory.used = entry.used;
    each.memory.uses = entry.uses;
  }
  return found;
}

void RedisMemories::use(std::string_view user, std::span<const std::string> ids, TimePoint now) {
  std::vector<std::string> words = Retention(limits()).words();
  words.insert(words.begin(), std::to_string(to_ms(now)));
  words.insert(words.end(), ids.begin(), ids.end());
  const std::string owner = owner_of(user);
  copies_.use(owner, ids, now);
  WriteQueue::Item item{.bytes = owner.size() + 64 * words.size()};
  item.write = [this, owner, words = std::move(words)]() -> Result<void> {
    SIGNALBOX_TRY_VOID(run(use_script(), owner, words));
    return {};
  };
  queue_.add(std::move(item));
}

Result<std::string> RedisMemories::add(std::string_view user, Memory memory,
                                       const memories::Vector& vector, uint64_t moment,
                                       TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  const TimePoint at = from_ms(to_ms(now));
  Written out{.owner = owner_of(user), .id = memories::new_memory_id()};
  out.entry = {.created = at, .used = at, .digest = digest_of(memory.text), .moment = moment};
  memory.created = at;
  out.record = write_record({out.owner, std::move(memory), vector});
  if (out.record.size() > kRecordBytesMax)
    return fail(Code::kTooLarge, "a memory of {} bytes, where each may have {}", out.record.size(),
                kRecordBytesMax);
  if (is_deleted(out.owner, out.id, moment)) return std::string();
  std::string id = out.id;
  queue(std::make_shared<const Written>(std::move(out)));
  return id;
}

void RedisMemories::queue(WrittenPointer memory) {
  WriteQueue::Item item{
      .id = memory->id, .bytes = memory->bytes(), .useful_until = Clock::now() + kWaitsMax};
  item.write = [this, memory = std::move(memory)] { return write(memory); };
  queue_.add(std::move(item));
}

Result<void> RedisMemories::write(const WrittenPointer& memory) {
  const MemoryLimits limits = this->limits();
  const Retention retention(limits);
  const IndexEntry& entry = memory->entry;
  const TimePoint now = TimePoint::clock::now();
  const double lifetime =
      retention.lifetime_ms(entry.uses) - static_cast<double>(to_ms(now) - to_ms(entry.used));
  if (lifetime < 1) return {};
  std::vector<std::string> words{memory->id,
                                 memory->record,
                                 write_entry(entry),
                                 std::to_string(entry.moment),
                                 entry.digest,
                                 fmt::format("{:.0f}", lifetime),
                                 std::to_string(to_ms(now))};
  for (std::string& word : retention.words()) words.push_back(std::move(word));
  words.push_back(std::to_string(limits.of_user));
  SIGNALBOX_TRY(const RedisValue added, run(add_script(), memory->owner, words));
  const std::lock_guard lock(mutex_);
  if (added.number == 1) journal_.add(memory);
  return {};
}

Result<memories::Memories::Page> RedisMemories::list(std::string_view user, size_t most,
                                                     TimePoint now) {
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  const Index& index = known->index;
  std::vector<std::string> ids;
  for (const auto& [id, entry] : index) ids.push_back(id);
  std::ranges::stable_sort(ids, std::greater<>(),
                           [&](const std::string& id) { return index.find(id)->second.created; });
  ids.resize(std::min(ids.size(), most));
  Page out{.total = index.size()};
  SIGNALBOX_TRY(auto records, read_records(owner, ids));
  for (auto& [id, record] : records) {
    const IndexEntry& entry = index.find(id)->second;
    record.memory.used = entry.used;
    record.memory.uses = entry.uses;
    out.memories.push_back(std::move(record.memory));
  }
  return out;
}

Result<std::optional<Memory>> RedisMemories::find(std::string_view user, std::string_view id,
                                                  TimePoint now) {
  if (!is_memory_id(id)) return std::nullopt;
  const std::string owner = owner_of(user), wanted(id);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  const Index& index = known->index;
  const auto entry = index.find(id);
  if (entry == index.end()) return std::nullopt;
  SIGNALBOX_TRY(auto records, read_records(owner, {&wanted, 1}));
  if (records.empty()) return std::nullopt;
  Memory out = std::move(records.front().second.memory);
  out.used = entry->second.used;
  out.uses = entry->second.uses;
  return out;
}

Result<bool> RedisMemories::forget(std::string_view user, std::string_view id) {
  if (!is_memory_id(id)) return false;
  if (queue_.is_away()) return not_deleted();
  auto had = delete_one({owner_of(user), std::string(id)}, false);
  if (!had) return hidden(had.error(), not_deleted());
  return had;
}

Result<size_t> RedisMemories::forget_all(std::string_view user) {
  if (queue_.is_away()) return not_deleted();
  auto count = delete_all({.owner = owner_of(user)});
  if (!count) return hidden(count.error(), not_deleted());
  return count;
}

std::optional<memories::Memories::Shared> RedisMemories::shared() const {
  const WriteQueue::Stats all = queue_.stats();
  return Shared{.works = all.works && follower_.is_readable(),
                .waiting = all.waiting,
                .written = all.written,
                .refused = all.refused,
                .dropped = all.dropped};
}

Result<bool> RedisMemories::delete_one(const Deletion& deletion, bool again) {
  const std::vector<std::string> words{deletion.id, again ? "1" : "0"};
  SIGNALBOX_TRY(const RedisValue had, run(forget_script(), deletion.owner, words));
  const bool is_done = had.number == 1;
  if (is_done) learn(deletion);
  return is_done;
}

Result<size_t> RedisMemories::delete_all(Deletion deletion) {
  const std::vector<std::string> words{std::to_string(deletion.moment)};
  SIGNALBOX_TRY(const RedisValue done, run(forget_all_script(), deletion.owner, words));
  if (done.items.size() != 2)
    return fail(Code::kIo, "{}: a script returned an unexpected reply", redis_.name());
  const std::string& moment = done.items[1].text;
  std::from_chars(moment.data(), moment.data() + moment.size(), deletion.moment);
  learn(deletion);
  return static_cast<size_t>(done.items[0].number);
}

std::unique_ptr<SharedMemories> make_redis_memories(Options options) {
  return std::make_unique<RedisMemories>(std::move(options));
}

Result<std::unique_ptr<SharedMemories>> open(const config::MemoryStore& store) {
  const bool is_redis = store.backend == "redis";
  auto server = is_redis ? stores::redis_server(store.redis) : stores::valkey_server(store.valkey);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  const std::string& prefix = is_redis ? store.redis.key_prefix : store.valkey.collection_prefix;
  if (!prefix.empty()) options.prefix = prefix;
  if (is_redis) {
    stores::set_seconds(store.redis.read_timeout, options.read_limit);
    stores::set_seconds(store.redis.write_timeout, options.write_limit);
  } else {
    stores::set_seconds(store.valkey.timeout, options.read_limit);
    stores::set_seconds(store.valkey.timeout, options.write_limit);
  }
  return make_redis_memories(std::move(options));
}

}  // namespace signalbox::shared_memories
