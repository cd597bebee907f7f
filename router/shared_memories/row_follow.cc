// The thread that reads the deletions of all routers.

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "router/shared_memories/row_store.h"

namespace signalbox::shared_memories {
namespace {

/// While a deletion is written, another one with a later moment may appear first. This is in
/// microseconds, as moments are, and covers clocks that differ by some seconds.
constexpr uint64_t kLateness = 10'000'000;
constexpr size_t kRestoredDeletions = 256, kPurgedAtOnce = 1000;

tl::unexpected<Error> stopped() {
  return fail(Code::kCancelled, "the router ends");
}

}  // namespace

bool RowMemories::sleeps_and_ends(std::chrono::milliseconds time) {
  std::unique_lock lock(end_mutex_);
  return wake_.wait_for(lock, time, [this] { return stopping_; });
}

bool RowMemories::ends() {
  return sleeps_and_ends(std::chrono::milliseconds(0));
}

void RowMemories::follow() {
  for (;;) {
    const Result<void> followed = follow_once();
    if (!followed && !ends()) {
      was_away_ = true;
      lacks_deletions_ = true;
      queue_.set_away(followed.error());
    }
    if (sleeps_and_ends(options_.poll_every)) return;
  }
}

Result<void> RowMemories::follow_once() {
  if (is_lost_) {
    was_away_ = true;
    lacks_deletions_ = true;
    is_lost_ = false;  // set last, because a search must see at least one of these flags
  }
  SIGNALBOX_TRY(const bool exists, prepare(was_away_ ? dimension_.load() : 0));
  if (exists) SIGNALBOX_TRY_VOID(read_deletions());
  if (std::exchange(was_away_, false)) begin_again();
  if (exists) SIGNALBOX_TRY_VOID(restore_deletions());
  lacks_deletions_ = false;
  queue_.set_working();
  if (!exists) return {};
  SIGNALBOX_TRY_VOID(restore_records());
  purge();
  return {};
}

void RowMemories::begin_again() {
  readable_at_ = Clock::now() + options_.grace;
  const std::lock_guard lock(mutex_);
  deletions_to_restore_.clear();
  for (const auto& [name, until_ms] : journal_.deletions(to_ms(memories::TimePoint::clock::now())))
    deletions_to_restore_.push_back(read_deletion(name));
  std::vector<WrittenPointer> records = journal_.memories();
  records_to_restore_.assign(std::move_iterator(records.begin()),
                             std::move_iterator(records.end()));
  queue_.expect(records_to_restore_.size());
}

Result<void> RowMemories::read_deletions() {
  const uint64_t known = moment_;
  SIGNALBOX_TRY(const Rows found, query({.only_deletions = true,
                                         .moment_above = known < kLateness ? 0 : known - kLateness,
                                         .most = kRowsMax}));
  for (const Row& row : found.rows) learn(deletion_of(row));
  return {};
}

// Writes only the deletions that the server lacks, because most servers that come back have lost
// none.
Result<void> RowMemories::restore_deletions() {
  while (!deletions_to_restore_.empty()) {
    if (ends()) return stopped();
    const auto end =
        deletions_to_restore_.begin() +
        std::min<std::ptrdiff_t>(std::ssize(deletions_to_restore_), kRestoredDeletions);
    std::vector<Deletion> part(deletions_to_restore_.begin(), end);
    SIGNALBOX_TRY_VOID(keep_lost(part));
    std::vector<std::string> ids;
    for (Deletion& each : part) {
      if (each.id.empty()) continue;
      each.moment = next_moment();  // a new moment, because other routers read only what is newer
      ids.push_back(each.id);
    }
    if (!part.empty()) SIGNALBOX_TRY_VOID(write_deletions(part));
    SIGNALBOX_TRY_VOID(remove(ids));
    deletions_to_restore_.erase(deletions_to_restore_.begin(), end);
  }
  return {};
}

// Keeps only deletions that are lost. An earlier deletion whose row a deletion of everything has
// removed counts as lost.
Result<void> RowMemories::keep_lost(std::vector<Deletion>& deletions) {
  std::vector<std::string> ids;
  for (const Deletion& each : deletions) ids.push_back(deletion_row(each, 1, 0, 0).id);
  SIGNALBOX_TRY(const Rows found, query({.ids = ids, .most = ids.size()}));
  std::erase_if(deletions, [&](const Deletion& each) {
    const std::string id = deletion_row(each, 1, 0, 0).id;
    return std::ranges::find(found.rows, id, &Row::id) != found.rows.end();
  });
  return {};
}

Result<void> RowMemories::restore_records() {
  if (Clock::now() < readable_at_.load()) return {};
  while (!records_to_restore_.empty()) {
    if (ends()) return stopped();
    const size_t count = std::min(kAtOnce, records_to_restore_.size());
    std::vector<std::string> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(records_to_restore_[i]->id);
    SIGNALBOX_TRY(const Rows found, query({.ids = ids, .most = count}));
    for (const std::string& id : ids) {
      const WrittenPointer next = records_to_restore_.front();
      const bool is_lost = std::ranges::find(found.rows, id, &Row::id) == found.rows.end();
      if (is_lost && !queue_.has_room(next->bytes())) return {};
      if (is_lost) queue(next);
      records_to_restore_.pop_front();
      queue_.expect(records_to_restore_.size());
    }
  }
  return {};
}

// Removes the row of a deletion only after the rows that it hides.
Result<void> RowMemories::add_purged(const Row& row, std::vector<std::string>& to) {
  const Deletion deletion = deletion_of(row);
  if (row.kind == RowKind::kDeletion) to.push_back(deletion.id);
  if (row.kind == RowKind::kDeletionOfAll) {
    if (row.entry.moment >= moment_)
      return {};  // keep the newest row, because later moments must exceed its moment
    SIGNALBOX_TRY(const Rows found, query({.owner = row.record.owner, .most = kRowsMax}));
    if (found.count() >= kRowsMax) return {};  // some of those that it hides may be missing
    for (const Row& each : found.rows) {
      if (each.kind == RowKind::kMemory && each.entry.moment < row.entry.moment)
        to.push_back(each.id);
    }
    SIGNALBOX_TRY_VOID(remove(to));
    to.clear();
  }
  to.push_back(row.id);
  return {};
}

Result<void> RowMemories::remove_expired() {
  const int64_t now = to_ms(memories::TimePoint::clock::now());
  SIGNALBOX_TRY(const Rows found, query({.expires_below_ms = now, .most = kPurgedAtOnce}));
  std::vector<std::string> over;
  for (const Row& row : found.rows) {
    if (ends()) return {};
    SIGNALBOX_TRY_VOID(add_purged(row, over));
  }
  return remove(over);
}

void RowMemories::purge() {
  if (Clock::now() < purge_at_) return;
  purge_at_ = Clock::now() + options_.purge_every;
  const Result<void> removed = remove_expired();
  if (removed) {
    purge_logged_ = false;
  } else if (!purge_logged_.exchange(true)) {
    log::warn("memory", "{}: memories whose age is over are not removed: {}", kSection,
              removed.error().message);
  }
}

}  // namespace signalbox::shared_memories
