// One thread follows the stream of deletions over a connection of its own. So it knows at once when
// Redis goes away or comes back, and only it decides that.

#include "router/shared_memories/redis_memories.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/recently_used.h"
#include "router/memories/local_memories.h"
#include "router/shared_memories/journal.h"
#include "router/shared_memories/record.h"
#include "router/shared_memories/scripts.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_memories {
namespace {

using memories::Found;
using memories::Memory;
using memories::MemoryLimits;
using memories::TimePoint;
using std::chrono::milliseconds;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;
using Command = stores::Redis::Command;
using Words = std::deque<std::string>;                         // commands have views of them
using Index = std::map<std::string, IndexEntry, std::less<>>;  // by id

constexpr std::string_view kSection = "global.stores.memory";
constexpr WriteQueue::Words kWords{.area = "memory",
                                   .section = kSection,
                                   .records = "memories",
                                   .meanwhile = "wait in this router",
                                   .unwritten = "are lost"};
constexpr milliseconds kFollow{200}, kRetry{100}, kNoWait{1};
/// Less than a deletion is remembered, see scripts.cc.
constexpr std::chrono::hours kWaitsMax{12};
constexpr size_t kAtOnce = 64;  // records in one exchange
constexpr double kDayMs = 86'400'000;
constexpr size_t kIndexEntryBytes = 256;  // with the nodes of the map
constexpr size_t kKnownMax = 100'000, kKnownBytesMax = size_t{64} << 20;
/// Memories of files with a very long lifetime are deleted after ten years without a use.
constexpr double kLifetimeMsMax = 3650 * kDayMs;

/// What a router knows about the memories of a user.
struct Known {
  std::string version = {};
  uint64_t limits = 0;  // by whose number `index` was made
  Index index = {};     // of memories that are neither over nor deleted
  // When the last of those that are left out was over, and when the next one will be.
  TimePoint since = TimePoint::min(), until = TimePoint::max();
  // The number of copies when they agreed with the index. If there are others now, they do not.
  mutable std::atomic<size_t> copied = SIZE_MAX;

  size_t bytes() const { return sizeof(Known) + index.size() * kIndexEntryBytes; }
};
using KnownPointer = std::shared_ptr<const Known>;

/// How long memories last, as scripts compute it.
struct Retention {
  double strength_ms, weakness_max;

  explicit Retention(const MemoryLimits& limits)
      : strength_ms(limits.strength_days * kDayMs), weakness_max(-std::log(limits.retention_min)) {}
  double lifetime_ms(uint32_t uses) const {
    return std::min(kLifetimeMsMax, (strength_ms + uses * kDayMs) * weakness_max);
  }
  TimePoint end_of(const IndexEntry& entry) const {
    return entry.used + milliseconds(static_cast<int64_t>(lifetime_ms(entry.uses)));
  }
  std::vector<std::string> words() const {
    return {fmt::format("{:.0f}", strength_ms), fmt::format("{:.17g}", weakness_max),
            fmt::format("{:.0f}", kLifetimeMsMax)};
  }
};

tl::unexpected<Error> unreadable() {
  return fail(Code::kUpstream, "the store of memories, which routers share, does not respond");
}

tl::unexpected<Error> not_deleted() {
  return fail(Code::kUpstream,
              "nothing is deleted, because the store of memories, which routers share, takes no "
              "changes now");
}

class RedisMemories final : public SharedMemories {
 public:
  explicit RedisMemories(Options options)
      : options_(std::move(options)),
        redis_(options_.server),
        followed_(options_.server),
        stream_(options_.prefix + "deleted"),
        journal_(options_.journal_bytes),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        thread_([this] { follow(); }) {
    set_limits({});
  }

  ~RedisMemories() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void set_limits(const MemoryLimits& limits) override;
  Result<std::vector<Found>> search(std::string_view user, const memories::Vector& vector,
                                    size_t most, double similarity_min, TimePoint now) override;
  void use(std::string_view user, std::span<const std::string> ids, TimePoint now) override;
  uint64_t moment() const override { return moment_; }
  Result<std::string> add(std::string_view user, Memory memory, const memories::Vector& vector,
                          uint64_t moment, TimePoint now) override;
  Result<Page> list(std::string_view user, size_t most, TimePoint now) override;
  Result<std::optional<Memory>> find(std::string_view user, std::string_view id,
                                     TimePoint now) override;
  Result<bool> forget(std::string_view user, std::string_view id) override;
  Result<size_t> forget_all(std::string_view user) override;
  Size size() const override { return copies_.size(); }
  std::optional<Shared> shared() const override;
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
  std::string key_of(std::string_view kind, std::string_view name) const {
    return options_.prefix + std::string(kind) + std::string(name);
  }
  MemoryLimits limits() const {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  /// Runs a script for an owner.
  Result<RedisValue> run(std::string_view script, std::string_view owner,
                         std::span<const std::string> words);
  /// Logs an error of the server once, and returns what the caller may know.
  tl::unexpected<Error> hidden(const Error& error, tl::unexpected<Error> shown);

  Result<KnownPointer> read_index(const std::string& owner, TimePoint now);
  Result<KnownPointer> read_whole_index(const std::string& owner, const std::string& key,
                                        TimePoint now);
  void add_to_index(const std::string& owner, const std::string& id, std::string_view bytes,
                    TimePoint now, Known& to) const;
  Result<std::vector<std::pair<std::string, Record>>> read_records(
      const std::string& owner, std::span<const std::string> ids);
  Result<void> copy(const std::string& owner, const Known& known, TimePoint now);
  void queue(WrittenPointer memory);
  Result<void> write(const WrittenPointer& memory);

  void follow();
  Result<void> follow_once();
  void begin_again();
  Result<void> catch_up();
  void learn(const Deletion& deletion);
  Result<bool> delete_one(const Deletion& deletion, bool again);
  Result<size_t> delete_all(Deletion deletion);
  Result<void> restore();
  Result<void> restore_memories();

  const Options options_;
  stores::Redis redis_, followed_;
  const std::string stream_;
  memories::LocalMemories copies_;                               // by owner
  RecentlyUsed<KnownPointer> known_{kKnownMax, kKnownBytesMax};  // by owner
  std::atomic<uint64_t> moment_ = 0;
  std::atomic<bool> refusal_logged_ = false, damage_logged_ = false;
  mutable std::mutex mutex_;  // guards the next four
  MemoryLimits limits_;
  uint64_t limits_number_ = 0;  // grows with each change
  Journal journal_;
  bool stopping_ = false;
  std::condition_variable wake_;

  // These belong to the thread that follows.
  std::string cursor_ = "0-0";
  uint64_t connections_ = 0;
  bool catches_up_ = true;           // the stream has not been read to its end yet
  std::set<std::string> in_stream_;  // meanwhile
  std::deque<Deletion> deletions_to_restore_;
  std::deque<WrittenPointer> memories_to_restore_;
  Clock::time_point restores_at_{};
  bool lacks_room_ = false;  // for the next of them

  WriteQueue queue_;
  std::thread thread_;
};

// --- for requests ---

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
  if (queue_.is_away()) return unreadable();
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
                                                 double similarity_min, TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const KnownPointer known, read_index(owner, now));
  SIGNALBOX_TRY_VOID(copy(owner, *known, now));
  const Index& index = known->index;
  SIGNALBOX_TRY(auto found, copies_.search(owner, vector, most, similarity_min, now));
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
  {
    const std::lock_guard lock(mutex_);
    if (journal_.is_deleted(out.owner, out.id, moment)) return std::string();
  }
  std::string id = out.id;
  queue(std::make_shared<const Written>(std::move(out)));
  return id;
}

void RedisMemories::queue(WrittenPointer memory) {
  WriteQueue::Item item{.id = memory->id, .bytes = memory->bytes()};
  item.write = [this, memory = std::move(memory), until = Clock::now() + kWaitsMax] {
    return Clock::now() < until ? write(memory) : Result<void>();
  };
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
  return Shared{.works = all.works,
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

// --- the thread that follows ---

void RedisMemories::follow() {
  for (;;) {
    const Result<void> followed = follow_once();
    if (!followed) queue_.set_away(followed.error());
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, followed ? milliseconds(0) : kRetry, [this] { return stopping_; }))
      return;
  }
}

Result<void> RedisMemories::follow_once() {
  const bool is_done = deletions_to_restore_.empty() && memories_to_restore_.empty();
  const bool waits =
      !catches_up_ && (is_done || std::exchange(lacks_room_, false) ||
                       (deletions_to_restore_.empty() && Clock::now() < restores_at_));
  SIGNALBOX_TRY(const auto entries,
                followed_.follow(stream_, cursor_, waits ? kFollow : kNoWait, options_.read_limit));
  if (followed_.connections() != connections_) {
    begin_again();
    return {};
  }
  for (const std::vector<std::string>& entry : entries) {
    if (entry.size() != 6) continue;
    const bool is_all = entry[3].empty();
    const Deletion deletion = read_deletion(entry[1] + " " + (is_all ? entry[5] : entry[3]));
    if (deletion.owner.empty()) continue;
    if (catches_up_) in_stream_.insert(deletion.name());
    learn(deletion);
  }
  if (catches_up_ && entries.size() == stores::Redis::kEntriesMax) return {};
  if (catches_up_) SIGNALBOX_TRY_VOID(catch_up());
  queue_.set_working();
  const Result<void> restored = restore();
  if (restored) return {};
  if (restored.error().code != Code::kUpstream) return tl::unexpected(restored.error());
  queue_.set_refusing(restored.error());
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kFollow, [this] { return stopping_; });
  return {};
}

// The server behind a new connection may have lost its data, or been restored from an older state.
void RedisMemories::begin_again() {
  connections_ = followed_.connections();
  catches_up_ = true;
  in_stream_.clear();
  cursor_ = "0-0";
  restores_at_ = Clock::now() + options_.grace;
  const std::lock_guard lock(mutex_);
  const auto written = journal_.memories();
  memories_to_restore_.assign(written.begin(), written.end());
  queue_.expect(memories_to_restore_.size());
}

// Reads the clock, because the stream may be shorter, and finds the deletions that are not in the
// stream.
Result<void> RedisMemories::catch_up() {
  const std::string key = key_of("clock", "");
  SIGNALBOX_TRY(const RedisValue clock, followed_.run({"GET", key}, options_.read_limit));
  uint64_t moment = 0;
  std::from_chars(clock.text.data(), clock.text.data() + clock.text.size(), moment);
  if (moment > moment_) moment_ = moment;
  deletions_to_restore_.clear();
  const std::lock_guard lock(mutex_);
  for (Deletion& each : journal_.deletions(to_ms(TimePoint::clock::now()))) {
    if (!in_stream_.contains(each.name())) deletions_to_restore_.push_back(std::move(each));
  }
  in_stream_.clear();
  catches_up_ = false;
  return {};
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
  // Copies of newer memories are read again.
  if (deletion.id.empty()) {
    static_cast<void>(copies_.forget_all(deletion.owner));
  } else {
    static_cast<void>(copies_.forget(deletion.owner, deletion.id));
    queue_.forget(deletion.id);
  }
}

// A part at a time, because deletions are followed in between.
Result<void> RedisMemories::restore() {
  for (size_t i = 0; i < kAtOnce && !deletions_to_restore_.empty(); ++i) {
    const Deletion& next = deletions_to_restore_.front();
    if (next.id.empty()) {
      SIGNALBOX_TRY_VOID(delete_all(next));
    } else {
      SIGNALBOX_TRY_VOID(delete_one(next, true));
    }
    deletions_to_restore_.pop_front();
  }
  return deletions_to_restore_.empty() && Clock::now() >= restores_at_ ? restore_memories()
                                                                       : Result<void>();
}

Result<void> RedisMemories::restore_memories() {
  const size_t count = std::min(kAtOnce, memories_to_restore_.size());
  if (count == 0) return {};
  Words words;
  std::vector<Command> commands;
  for (size_t i = 0; i < count; ++i)
    commands.push_back({"EXISTS", words.emplace_back(key_of("m:", memories_to_restore_[i]->id))});
  SIGNALBOX_TRY(const auto are_there, redis_.run_all(commands, options_.read_limit));
  for (const RedisValue& is_there : are_there) {
    const WrittenPointer& next = memories_to_restore_.front();
    bool is_deleted = false;
    {
      const std::lock_guard lock(mutex_);
      is_deleted = journal_.is_deleted(next->owner, next->id, next->entry.moment);
    }
    if (is_there.number == 0 && !is_deleted) {
      lacks_room_ = !queue_.has_room(next->bytes());
      if (lacks_room_) break;
      queue(next);
    }
    memories_to_restore_.pop_front();
  }
  queue_.expect(memories_to_restore_.size());
  return {};
}

}  // namespace

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
