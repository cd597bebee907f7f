// The functions for requests. Each reads the present state of Redis, and none waits for a write.

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "router/shared_memories/retention.h"
#include "router/shared_memories/scripts.h"
#include "router/shared_memories/store.h"

namespace signalbox::shared_memories {
namespace {

using Words = std::deque<std::string>;  // commands hold views of them

}  // namespace

void RedisMemories::set_limits(const MemoryLimits& limits) {
  copies_.set_limits(limits_of_copies(limits));
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

tl::unexpected<Error> RedisMemories::log_and_hide(const Error& error, tl::unexpected<Error> shown) {
  // Log refusals only; the follower logs a server that does not respond.
  if (error.code == Code::kUpstream && !refusal_logged_.exchange(true))
    log::warn("memory", "{}: {}", kSection, error.message);
  return shown;
}

Result<KnownPointer> RedisMemories::read_index(const std::string& owner, TimePoint now) {
  if (!follower_.is_readable()) return unreadable();
  const std::string key = key_of("u:", owner);
  const auto version = redis_.run({"HGET", key, "v"}, options_.read_limit);
  if (!version) return log_and_hide(version.error(), unreadable());
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
  if (!all) return log_and_hide(all.error(), unreadable());
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

Result<Records> RedisMemories::read_records(const std::string& owner,
                                            std::span<const std::string> ids) {
  Records out;
  if (ids.empty()) return out;
  Words words;
  Command command{"MGET"};
  for (const std::string& id : ids) command.push_back(words.emplace_back(key_of("m:", id)));
  const auto all = redis_.run(command, options_.read_limit);
  if (!all) return log_and_hide(all.error(), unreadable());
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

ReadRecords RedisMemories::reader(const std::string& owner) {
  return [this, owner](std::span<const std::string> ids) { return read_records(owner, ids); };
}

Result<std::vector<Found>> RedisMemories::search(std::string_view user,
                                                 const memories::Vector& vector, size_t most,
                                                 double similarity_min,
                                                 const memories::WordQuery* words, TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  if (known->copied != copies_.count(owner)) {
    SIGNALBOX_TRY_VOID(bring_copies(copies_, owner, known->index, reader(owner), now));
    known->copied = copies_.count(owner);
  }
  return search_copies(copies_, owner, known->index, vector, most, similarity_min, words, now);
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
  SIGNALBOX_TRY(auto made, new_record(user, std::move(memory), vector, moment, now));
  Written out{.owner = made.first.owner,
              .id = memories::new_memory_id(),
              .entry = std::move(made.second),
              .record = write_record(made.first)};
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
  return newest_of(known->index, most, reader(owner));
}

Result<std::optional<Memory>> RedisMemories::find(std::string_view user, std::string_view id,
                                                  TimePoint now) {
  if (!is_memory_id(id)) return std::nullopt;
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  return one_of(known->index, id, reader(owner));
}

Result<bool> RedisMemories::forget(std::string_view user, std::string_view id) {
  if (!is_memory_id(id)) return false;
  if (queue_.is_away()) return not_deleted();
  auto had = delete_one({owner_of(user), std::string(id)}, false);
  if (!had) return log_and_hide(had.error(), not_deleted());
  return had;
}

Result<size_t> RedisMemories::forget_all(std::string_view user) {
  if (queue_.is_away()) return not_deleted();
  auto count = delete_all({.owner = owner_of(user)});
  if (!count) return log_and_hide(count.error(), not_deleted());
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

}  // namespace signalbox::shared_memories
