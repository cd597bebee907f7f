// The functions for requests, and the rows that they read.

#include "router/shared_memories/row_memories.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "router/shared_memories/retention.h"
#include "router/shared_memories/row_store.h"

namespace signalbox::shared_memories {
namespace {

constexpr std::chrono::seconds kPrepareLimit{1}, kReadLimit{5};

}  // namespace

using memories::Found;
using memories::Memory;
using memories::MemoryLimits;
using memories::TimePoint;
using stores::WriteQueue;

RowMemories::RowMemories(std::unique_ptr<RowServer> server, const RowOptions& options)
    : options_(options),
      server_(std::move(server)),
      journal_(options.journal_bytes),
      queue_(server_->name(), options.waiting_bytes, kWords) {
  RowMemories::set_limits({});
  purge_at_ = Clock::now() + options_.purge_every;
  thread_ = std::thread([this] { follow(); });
}

RowMemories::~RowMemories() {
  {
    const std::lock_guard lock(end_mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void RowMemories::set_limits(const MemoryLimits& limits) {
  copies_.set_limits(limits_of_copies(limits));
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

bool RowMemories::is_readable() const {
  return takes_deletions() && Clock::now() >= readable_at_.load();
}

bool RowMemories::takes_deletions() const {
  return !queue_.is_away() && !is_lost_ && !lacks_deletions_;
}

bool RowMemories::is_deleted(std::string_view owner, std::string_view id, uint64_t moment) const {
  const std::lock_guard lock(mutex_);
  return journal_.is_deleted(owner, id, moment);
}

// Logs refusals only; the thread that follows the server logs that it does not respond.
tl::unexpected<Error> RowMemories::log_and_hide(const Error& error, tl::unexpected<Error> shown) {
  if (error.code != Code::kDeadline && !refusal_logged_.exchange(true))
    log::warn("memory", "{}: {}", kSection, error.message);
  return shown;
}

Result<bool> RowMemories::prepare(size_t dimension) {
  if (!is_ready_) {
    std::unique_lock lock(prepare_mutex_);
    if (!prepared_.wait_for(lock, kPrepareLimit, [this] { return !is_preparing_; }))
      return fail(Code::kDeadline, "{}: its collection is not ready yet", server_->name());
    is_preparing_ = true;
    lock.unlock();
    struct End {
      RowMemories& of;
      ~End() {
        const std::lock_guard again(of.prepare_mutex_);
        of.is_preparing_ = false;
        of.prepared_.notify_one();
      }
    } const end{*this};
    if (!is_ready_) {
      SIGNALBOX_TRY(const bool exists, prepare_collection(dimension));
      if (!exists) return false;
    }
  }
  if (dimension == 0 || dimension == dimension_) return true;
  return fail(Code::kInvalid,
              "{}: the collection has vectors of {} values, and those of the embedding model have "
              "{}; choose another collection or model",
              server_->name(), dimension_.load(), dimension);
}

Result<bool> RowMemories::prepare_collection(size_t dimension) {
  SIGNALBOX_TRY(auto found, server_->dimension());
  if (!found) {
    const size_t wanted = options_.dimension == 0 ? dimension : options_.dimension;
    if (wanted == 0) return false;
    const auto made = server_->create(wanted);
    // Another router may have made it meanwhile.
    SIGNALBOX_TRY(found, server_->dimension());
    if (!found && !made) return tl::unexpected<Error>(made.error());
    if (!found) return fail(Code::kIo, "{}: no collection was made", server_->name());
  }
  if (options_.dimension != 0 && *found != options_.dimension)
    return fail(Code::kInvalid,
                "{}: the collection has vectors of {} values, where `dimension` is {}",
                server_->name(), *found, options_.dimension);
  dimension_ = *found;
  is_ready_ = true;
  return true;
}

Result<Rows> RowMemories::query(const RowQuery& query) {
  SIGNALBOX_TRY(Rows found, noted(server_->query(query)));
  found.illegible += std::erase_if(found.rows, [&](const Row& row) {
    return query.is_whole && row.kind == RowKind::kMemory &&
           row.record.vector.values.size() != dimension_;
  });
  if (found.illegible > 0 && !damage_logged_.exchange(true))
    log::warn("memory",
              "{}: {} rows of a reply have no memory of this user in the form of this "
              "program; they are not used",
              server_->name(), found.illegible);
  return found;
}

Result<OwnerRows> RowMemories::rows_of(const std::string& owner, TimePoint now,
                                       bool may_miss_some) {
  SIGNALBOX_TRY(const Rows found, query({.owner = owner, .most = kRowsMax}));
  // Deletions may be among those that are missing.
  if (found.count() >= kRowsMax && !may_miss_some)
    return fail(Code::kTooLarge, "{}: a user has {} rows or more, deletions of 60 days included",
                server_->name(), kRowsMax);
  OwnerRows out;
  for (const Row& row : found.rows) {
    out.moment = std::max(out.moment, row.entry.moment);
    if (row.kind == RowKind::kMemory) {
      out.all.emplace_back(row.id, row.entry);
    } else {
      out.deletions.insert(row.id);
      if (row.kind == RowKind::kDeletionOfAll)
        out.forgotten = std::max(out.forgotten, row.entry.moment);
    }
  }
  const Retention retention(limits());
  for (const auto& [id, entry] : out.all) {
    const bool counts = entry.moment >= out.forgotten && !out.deletions.contains(deletion_id(id)) &&
                        retention.end_of(entry) > now;
    // The server may have returned with older data.
    if (counts && !is_deleted(owner, id, entry.moment)) out.index.emplace(id, entry);
  }
  return out;
}

Result<Index> RowMemories::read_index(const std::string& owner, TimePoint now) {
  if (!is_readable()) return unreadable();
  const auto exists = prepare(0);
  if (!exists) return log_and_hide(exists.error(), unreadable());
  if (!*exists) return Index();
  auto rows = rows_of(owner, now);
  if (!rows) return log_and_hide(rows.error(), unreadable());
  refusal_logged_ = false;
  return std::move(rows->index);
}

Result<Records> RowMemories::read_records(const std::string& owner,
                                          std::span<const std::string> ids) {
  Records out;
  if (ids.empty()) return out;
  auto rows = query({.owner = owner, .ids = ids, .is_whole = true, .most = ids.size()});
  if (!rows) return log_and_hide(rows.error(), unreadable());
  // In the order of the ids.
  for (const std::string& id : ids) {
    const auto row = std::ranges::find(rows->rows, id, &Row::id);
    if (row != rows->rows.end()) out.emplace_back(id, std::move(row->record));
  }
  return out;
}

ReadRecords RowMemories::reader(const std::string& owner) {
  return [this, owner,
          until = Clock::now() + kReadLimit](std::span<const std::string> ids) -> Result<Records> {
    if (Clock::now() < until) return read_records(owner, ids);
    return log_and_hide(
        {Code::kUpstream, fmt::format("{}: reading the memories of a user takes more "
                                      "than {} seconds",
                                      server_->name(), kReadLimit.count())},
        unreadable());
  };
}

Result<std::vector<Found>> RowMemories::search(std::string_view user,
                                               const memories::Vector& vector, size_t most,
                                               double similarity_min,
                                               const memories::WordQuery* words, TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  // The first search makes the collection. So it exists while a turn is in progress, and a deletion
  // can be stored in it.
  if (!is_readable()) return unreadable();
  const auto fits = prepare(vector.values.size());
  if (!fits) return log_and_hide(fits.error(), unreadable());
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const Index index, read_index(owner, now));
  SIGNALBOX_TRY_VOID(bring_copies(copies_, owner, index, reader(owner), now));
  return search_copies(copies_, owner, index, vector, most, similarity_min, words, now);
}

Result<memories::Memories::Page> RowMemories::list(std::string_view user, size_t most,
                                                   TimePoint now) {
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const Index index, read_index(owner, now));
  return newest_of(index, most, reader(owner));
}

Result<std::optional<Memory>> RowMemories::find(std::string_view user, std::string_view id,
                                                TimePoint now) {
  if (!is_memory_id(id)) return std::nullopt;
  const std::string owner = owner_of(user);
  SIGNALBOX_TRY(const Index index, read_index(owner, now));
  return one_of(index, id, reader(owner));
}

Result<bool> RowMemories::forget(std::string_view user, std::string_view id) {
  if (!is_memory_id(id)) return false;
  if (!takes_deletions()) return not_deleted();
  auto had = delete_one({.owner = owner_of(user), .id = std::string(id)});
  if (!had) return log_and_hide(had.error(), not_deleted());
  return had;
}

Result<size_t> RowMemories::forget_all(std::string_view user) {
  if (!takes_deletions()) return not_deleted();
  auto count = delete_all({.owner = owner_of(user)});
  if (!count) return log_and_hide(count.error(), not_deleted());
  return count;
}

std::optional<memories::Memories::Shared> RowMemories::shared() const {
  const WriteQueue::Stats all = queue_.stats();
  return Shared{.works = all.works && is_readable(),
                .waiting = all.waiting,
                .written = all.written,
                .refused = all.refused,
                .dropped = all.dropped};
}

std::unique_ptr<SharedMemories> make_row_memories(std::unique_ptr<RowServer> server,
                                                  const RowOptions& options) {
  return std::make_unique<RowMemories>(std::move(server), options);
}

}  // namespace signalbox::shared_memories
