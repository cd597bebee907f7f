// Changes of rows. A write that was in progress or is repeated may bring back a deleted row. Such a
// row does not count, and the next change of its user removes it.

#include <algorithm>
#include <utility>

#include "router/shared_memories/retention.h"
#include "router/shared_memories/row_store.h"

namespace signalbox::shared_memories {

using memories::Memory;
using memories::TimePoint;
using stores::WriteQueue;

namespace {

constexpr int kRemovals = 4;  // each of at most kRowsMax; a write of a router may come between

double weakness_of(const IndexEntry& entry, const memories::MemoryLimits& limits, TimePoint now) {
  const double unused_ms = static_cast<double>(to_ms(now) - to_ms(entry.used));
  return unused_ms / (limits.strength_days * kDayMs + entry.uses * kDayMs);
}

}  // namespace

Result<void> RowMemories::upsert(std::span<const Row> rows) {
  return noted(server_->upsert(rows));
}

Result<void> RowMemories::remove(std::span<const std::string> ids) {
  for (size_t i = 0; i < ids.size(); i += kRowIdsMax)
    SIGNALBOX_TRY_VOID(
        noted(server_->remove(ids.subspan(i, std::min(kRowIdsMax, ids.size() - i)))));
  return {};
}

int64_t RowMemories::end_of(const IndexEntry& entry) const {
  return to_ms(Retention(limits()).end_of(entry));
}

// --- memories ---

Result<std::string> RowMemories::add(std::string_view user, Memory memory,
                                     const memories::Vector& vector, uint64_t moment,
                                     TimePoint now) {
  SIGNALBOX_TRY(auto made, new_record(user, std::move(memory), vector, moment, now));
  SIGNALBOX_TRY_VOID(check_row({.record = made.first}));
  Written out{.owner = made.first.owner,
              .id = memories::new_memory_id(),
              .entry = std::move(made.second),
              .record = write_record(made.first)};
  if (is_deleted(out.owner, out.id, moment)) return std::string();
  std::string id = out.id;
  queue(std::make_shared<const Written>(std::move(out)));
  return id;
}

void RowMemories::queue(WrittenPointer memory) {
  WriteQueue::Item item{
      .id = memory->id, .bytes = memory->bytes(), .useful_until = Clock::now() + kWaitsMax};
  item.write = [this, memory = std::move(memory)] { return write(memory); };
  queue_.add(std::move(item));
}

// Reads the rows of the user after the write. So of this write and a deletion at the same time, one
// always sees the other.
Result<void> RowMemories::write(const WrittenPointer& memory) {
  const TimePoint now = TimePoint::clock::now();
  if (is_deleted(memory->owner, memory->id, memory->entry.moment) ||
      end_of(memory->entry) <= to_ms(now))
    return {};
  SIGNALBOX_TRY(Record record, read_record(memory->record));
  SIGNALBOX_TRY_VOID(prepare(record.vector.values.size()));
  const Row row{.id = memory->id,
                .entry = memory->entry,
                .expires_ms = end_of(memory->entry),
                .record = std::move(record)};
  SIGNALBOX_TRY_VOID(upsert({&row, 1}));
  const auto rows = rows_of(memory->owner, now);
  if (!rows) {
    if (rows.error().code == Code::kTooLarge) SIGNALBOX_TRY_VOID(remove({&memory->id, 1}));
    return tl::unexpected<Error>(rows.error());
  }
  SIGNALBOX_TRY_VOID(remove(in_excess(*rows, memory->id, now)));
  const std::lock_guard lock(mutex_);
  if (rows->index.contains(memory->id)) journal_.add(memory);
  return {};
}

std::vector<std::string> RowMemories::in_excess(const OwnerRows& rows, const std::string& id,
                                                TimePoint now) const {
  std::vector<std::string> out;
  for (const auto& [each, entry] : rows.all) {
    if (!rows.index.contains(each)) out.push_back(each);
  }
  const auto own = rows.index.find(id);
  if (own == rows.index.end()) return out;
  // Routers that add the same text at the same time must keep the same one.
  const auto age = [](const auto& each) { return std::pair(each.second.created, each.first); };
  auto newest = own;
  for (auto each = rows.index.begin(); each != rows.index.end(); ++each) {
    if (each->second.digest == own->second.digest && age(*each) > age(*newest)) newest = each;
  }
  const auto limits = this->limits();
  std::vector<std::pair<double, std::string>> others;
  for (const auto& [each, entry] : rows.index) {
    if (each == newest->first) continue;
    if (entry.digest == newest->second.digest) {
      out.push_back(each);
    } else {
      others.emplace_back(weakness_of(entry, limits, now), each);
    }
  }
  std::ranges::sort(others, std::greater<>());
  const size_t most = limits.of_user - 1;  // and the newest
  for (size_t i = 0; i + most < others.size(); ++i) out.push_back(others[i].second);
  return out;
}

void RowMemories::use(std::string_view user, std::span<const std::string> ids, TimePoint now) {
  const std::string owner = owner_of(user);
  copies_.use(owner, ids, now);
  std::vector<std::string> used;
  for (const std::string& id : ids) {
    if (is_memory_id(id) && used.size() < kAtOnce) used.push_back(id);
  }
  if (used.empty()) return;
  WriteQueue::Item item{.bytes = owner.size() + 64 * used.size(),
                        .useful_until = Clock::now() + kWaitsMax};
  item.write = [this, owner, used = std::move(used), now] { return write_uses(owner, used, now); };
  queue_.add(std::move(item));
}

Result<void> RowMemories::write_uses(const std::string& owner, const std::vector<std::string>& ids,
                                     TimePoint now) {
  std::vector<std::string> looked_up = ids;
  for (const std::string& id : ids) looked_up.push_back(deletion_id(id));
  SIGNALBOX_TRY_VOID(prepare(0));
  SIGNALBOX_TRY(
      auto rows,
      query({.owner = owner, .ids = looked_up, .is_whole = true, .most = looked_up.size()}));
  std::vector<Row> used;
  for (Row& row : rows.rows) {
    const bool is_gone =
        row.kind != RowKind::kMemory || is_deleted(owner, row.id, row.entry.moment) ||
        std::ranges::find(rows.rows, deletion_id(row.id), &Row::id) != rows.rows.end();
    if (is_gone) continue;
    row.entry.used = std::max(row.entry.used, from_ms(to_ms(now)));
    row.entry.uses = std::max(row.entry.uses, row.entry.uses + 1);
    row.expires_ms = end_of(row.entry);
    used.push_back(row);
  }
  return used.empty() ? Result<void>() : upsert(used);
}

// --- deletions ---

uint64_t RowMemories::next_moment() const {
  const auto now = TimePoint::clock::now().time_since_epoch();
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return std::max(moment_ + 1, static_cast<uint64_t>(std::max<int64_t>(us, 1)));
}

Result<void> RowMemories::write_deletions(std::span<const Deletion> deletions) {
  const int64_t now = to_ms(TimePoint::clock::now());
  std::vector<Row> rows;
  for (const Deletion& each : deletions) {
    if (each.moment > kMomentMax)
      return fail(Code::kUpstream, "{}: its rows have moments that never come", server_->name());
    rows.push_back(deletion_row(each, dimension_, now, now + kDeletionMs));
  }
  return upsert(rows);
}

Result<void> RowMemories::carry_out(const Deletion& deletion) {
  const std::string written = deletion_row(deletion, 1, 0, 0).id;
  // A deletion of everything includes earlier deletions, so their rows can go.
  const auto confirms = [&](const Row& row) {
    return row.id == written ||
           (row.kind == RowKind::kDeletionOfAll && row.entry.moment > deletion.moment);
  };
  const auto is_obsolete = [&](const Row& row) {
    return deletion.id.empty() ? row.id != written && row.entry.moment < deletion.moment
                               : row.id == deletion.id;
  };
  for (int i = 0; i < kRemovals; ++i) {
    SIGNALBOX_TRY(const Rows found, query({.owner = deletion.owner, .most = kRowsMax}));
    const bool is_confirmed = std::ranges::any_of(found.rows, confirms);
    if (!is_confirmed && found.count() < kRowsMax)
      return fail(Code::kUpstream, "{}: it has acknowledged a deletion and does not return it",
                  server_->name());
    std::vector<std::string> obsolete;
    for (const Row& row : found.rows) {
      if (is_obsolete(row)) obsolete.push_back(row.id);
    }
    if (obsolete.empty() && is_confirmed) return {};
    SIGNALBOX_TRY_VOID(remove(obsolete));
  }
  return fail(Code::kUpstream, "{}: it still has rows whose deletion it has acknowledged",
              server_->name());
}

Result<bool> RowMemories::delete_one(Deletion deletion) {
  SIGNALBOX_TRY(const bool exists, prepare(0));
  if (!exists) return false;
  SIGNALBOX_TRY(const OwnerRows rows, rows_of(deletion.owner, TimePoint::clock::now()));
  if (!rows.index.contains(deletion.id)) return false;
  deletion.moment = std::max(next_moment(), rows.moment + 1);
  SIGNALBOX_TRY_VOID(write_deletions({&deletion, 1}));
  SIGNALBOX_TRY_VOID(carry_out(deletion));
  learn(deletion);
  return true;
}

// If there is no collection, no router has a turn in progress; see search().
Result<size_t> RowMemories::delete_all(Deletion deletion) {
  // Make a lost collection again, because other routers may restore memories in it.
  SIGNALBOX_TRY(const bool exists, prepare(dimension_));
  size_t count = 0;
  deletion.moment = next_moment();
  if (exists) {
    // The moment must be later than those that other routers give to turns now.
    SIGNALBOX_TRY_VOID(read_deletions());
    SIGNALBOX_TRY(const OwnerRows rows, rows_of(deletion.owner, TimePoint::clock::now(), true));
    deletion.moment = std::max(next_moment(), rows.moment + 1);
    count = rows.index.size();
    SIGNALBOX_TRY_VOID(write_deletions({&deletion, 1}));
    SIGNALBOX_TRY_VOID(carry_out(deletion));
  }
  learn(deletion);
  return count;
}

void RowMemories::learn(const Deletion& deletion) {
  uint64_t known = moment_;
  while (known < deletion.moment && !moment_.compare_exchange_weak(known, deletion.moment)) {
  }
  {
    const std::lock_guard lock(mutex_);
    if (!journal_.learn(deletion, to_ms(TimePoint::clock::now()))) return;
  }
  // Drop all copies of the user; those of newer memories are read again.
  if (deletion.id.empty()) {
    static_cast<void>(copies_.forget_all(deletion.owner));
  } else {
    static_cast<void>(copies_.forget(deletion.owner, deletion.id));
    queue_.forget(deletion.id);
  }
}

}  // namespace signalbox::shared_memories
