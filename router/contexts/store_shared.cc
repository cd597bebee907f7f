// The store and the level that routers share: what it is asked, what it is told, and what others
// have done there. Nothing here waits for it under the lock.

#include <utility>

#include "base/log.h"
#include "router/contexts/store_change.h"

namespace signalbox::contexts {

/// False, for those who go on without.
bool Store::failed(const Error&) {
  const std::lock_guard lock(mutex_);
  ++stats_.shared_failures;
  return false;
}

/// Somebody else may have put it there just now.
Result<void> Store::meet(const Key& key) {
  if (shared_ == nullptr || !is_id(key.id)) return {};
  const auto is_known = [&] {
    const std::lock_guard lock(mutex_);
    return entries_.contains(key);
  };
  if (is_known()) return {};
  const Change change(*this, key);
  if (is_known()) return {};
  const auto found = shared_->find(key);
  if (!found) {
    failed(found.error());
    return no_answer(key);
  }
  if (!*found) return {};
  const std::lock_guard lock(mutex_);
  const int64_t used = (*found)->context.created;
  be_shared(take_up((*found)->context, false, used)->second, (*found)->packed_bytes);
  return {};
}

Result<std::string> Store::read(const Context& context, bool is_below, bool& is_far) {
  Result<std::string> here = fail(Code::kNotFound, "{}: not there", context.key.id);
  if (is_below) here = below_->get(context);
  if (here || !context.shared) return here;
  Result<std::string> there = shared_->get(context);
  is_far = there.has_value();
  if (!there && there.error().code == Code::kUpstream) failed(there.error());
  return is_below && !there && there.error().code == Code::kNotFound ? here : there;
}

// --- what it is told ---

/// What others have used lately is not forgotten here, either.
Result<bool> Store::is_used_elsewhere(const Context& context, int64_t now) {
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    ttl_s = limits_.ttl_s;
  }
  const auto idle = shared_->idle(context, ttl_s);
  if (!idle) {
    failed(idle.error());
    return tl::unexpected(idle.error());
  }
  if (!*idle || **idle >= ttl_s) return false;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.find(context.key)->second;
  entry.used = now - **idle;
  entry.among->splice(entry.among->end(), *entry.among, entry.place);
  return true;
}

/// Whether one that is idle here has been left to the shared level.
bool Store::leave_below(int64_t now) {
  if (shared_ == nullptr) return false;
  const uint64_t below_bytes = below_->bytes();
  Context context;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto first = first_idle(packed_);
    if (first == packed_.end()) return false;
    const Entry& entry = (*first)->second;
    const bool is_idle = limits_.local_idle_s != 0 && now - entry.used >= limits_.local_idle_s;
    if ((!is_idle && below_bytes <= limits_.local_bytes) || !entry.context.shared) return false;
    context = entry.context;
    ttl_s = limits_.ttl_s;
    changing_.insert(context.key);
  }
  const auto idle = shared_->idle(context, ttl_s);
  const bool is_there = idle && *idle;
  if (!idle) failed(idle.error());
  const Result<void> dropped = is_there ? below_->drop(context.key) : Result<void>();
  {
    const std::lock_guard lock(mutex_);
    changing_.erase(context.key);
    const auto at = entries_.find(context.key);
    if (is_there && dropped) leave_below(at->second);
    file(at);
    if (idle && !*idle) owed_.insert(context.key);
  }
  changed_.notify_all();
  if (!dropped) log::error("context", "{}: {}", context.key.id, dropped.error().message);
  return is_there && dropped;
}

/// Each that is owed once, from where the last round ended, so that one that is refused keeps no
/// other waiting.
void Store::settle(int64_t now) {
  for (;;) {
    Key key;
    {
      const std::lock_guard lock(mutex_);
      if (!is_compared_) return;
      const auto next = owed_.upper_bound(settled_);
      settled_ = next == owed_.end() ? Key{} : *next;
      if (next == owed_.end()) return;
      key = settled_;
    }
    if (!settle(key, now)) return;
  }
}

bool Store::settle(const Key& key, int64_t now) {
  const Change change(*this, key);
  Context context;
  Content content;
  bool is_below = false;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    owed_.erase(key);
    if (found == entries_.end()) return true;
    context = found->second.context;
    content = found->second.content;
    is_below = found->second.is_below;
    ttl_s = limits_.ttl_s;
  }
  const auto owe = [&](const Error& error) {
    failed(error);
    const std::lock_guard lock(mutex_);
    owed_.insert(key);
    return false;
  };
  if (context.shared) {
    const auto touched = shared_->touch(context, ttl_s);
    if (!touched) return owe(touched.error());
    if (*touched) {
      const std::lock_guard lock(mutex_);
      entries_.find(key)->second.touched = now;
      return true;
    }
    // It was dropped, and word of it is on its way; or it got lost there.
    const auto dropped = shared_->dropped({&key, 1});
    if (!dropped) return owe(dropped.error());
    if (dropped->front() || (content == nullptr && !is_below)) {
      forget(key);
      return true;
    }
    const std::lock_guard lock(mutex_);
    be_unshared(entries_.find(key)->second);
  }
  if (content == nullptr) {
    Result<std::string> read = below_->get(context);
    if (!read) {
      stay_owed(key, read.error());
      return true;  // the next one may be read
    }
    content = std::make_shared<const std::string>(*std::move(read));
  }
  const auto packed = shared_->put(context, *content, ttl_s);
  if (!packed) return owe(packed.error());
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.find(key)->second;
  be_shared(entry, *packed);
  entry.touched = now;
  entry.unread.reset();
  return true;
}

/// One that cannot be read here. What may pass is tried again in the next round; what is damaged
/// cannot be put there any more, and whoever asks for it is told so as well.
void Store::stay_owed(const Key& key, const Error& error) {
  const bool may_pass = error.code == Code::kIo;
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    if (may_pass) owed_.insert(key);
    Entry& entry = entries_.find(key)->second;
    is_news = std::exchange(entry.unread, error.code) != error.code;
  }
  if (is_news)
    log::error("context", "{}: it is not where routers share contexts, and {}: {}", key.id,
               may_pass ? "cannot be read at the moment; it is tried again"
                        : "cannot be put there: it was damaged here",
               error.message);
}

/// Precondition: the right to change it.
void Store::forget(const Key& key) {
  const Result<void> dropped = below_->drop(key);
  if (!dropped) log::error("context", "{}: {}", key.id, dropped.error().message);
  const std::lock_guard lock(mutex_);
  if (dropped) erase(entries_.find(key));
}

// --- what others have done ---

bool Store::follow(std::chrono::milliseconds wait, int64_t now) {
  if (cursor_.empty()) return compare(now);
  const auto changes = shared_->follow(cursor_, wait);
  bool is_well = changes ? true : failed(changes.error());
  if (changes) {
    for (const SharedChange& change : *changes) is_well = is_well && take(change, now);
  }
  if (is_well) return true;
  cursor_.clear();
  const std::lock_guard lock(mutex_);
  is_compared_ = false;  // what is not there may have been dropped: nothing goes there until then
  return false;
}

/// Everything there with everything here.
bool Store::compare(int64_t now) {
  auto survey = shared_->survey();
  if (!survey) return failed(survey.error());
  std::set<Key> there;
  for (Shared& shared : survey->all) {
    there.insert(shared.context.key);
    take({std::move(shared)}, now);
  }
  std::vector<Context> missing;
  std::vector<Key> keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_) {
      if (there.contains(key)) continue;
      missing.push_back(entry.context);
      keys.push_back(key);
    }
  }
  const auto dropped = shared_->dropped(keys);
  if (!dropped) return failed(dropped.error());
  for (size_t i = 0; i < missing.size(); ++i) compare(missing[i], (*dropped)[i]);
  cursor_ = std::move(survey->cursor);
  const std::lock_guard lock(mutex_);
  is_compared_ = true;
  return true;
}

/// One that the survey did not find.
void Store::compare(const Context& known, std::optional<int64_t> dropped) {
  const Change change(*this, known.key);
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(known.key);
    if (found == entries_.end() || found->second.context.shared != known.shared) return;
    Entry& entry = found->second;
    // One that was put there after it had been dropped is not among the dropped ones. One that
    // could not be put there yet, because the level was away, may have been stored after.
    const bool is_dropped = dropped && (known.shared || *dropped > known.created);
    const bool is_here = entry.content != nullptr || entry.is_below;
    if (!is_dropped && is_here) {
      be_unshared(entry);
      owed_.insert(known.key);
      return;
    }
  }
  forget(known.key);
}

bool Store::take(const SharedChange& change, int64_t now) {
  const Context& context = change.what.context;
  const Change right(*this, context.key);
  if (change.is_gone) return take_drop(context.key);
  {
    const std::lock_guard lock(mutex_);
    auto at = entries_.find(context.key);
    if (at == entries_.end()) {
      // A pin of one that has been dropped before its router was told of that.
      if (change.what.packed_bytes == 0) return true;
      if (stats_.contexts >= limits_.contexts_max) return true;  // it is found when it is asked for
      at = take_up(context, false, now);
    }
    Entry& entry = at->second;
    const uint64_t packed = change.what.packed_bytes;
    be_shared(entry, packed != 0 ? packed : entry.shared_bytes);
    if (entry.context.pinned == context.pinned) return true;
  }
  take_pin(context.key, context.pinned);
  return true;
}

/// Precondition: the right to change it.
void Store::take_pin(const Key& key, bool pinned) {
  bool is_below = false;
  {
    const std::lock_guard lock(mutex_);
    is_below = entries_.find(key)->second.is_below;
  }
  const Result<void> kept = is_below ? below_->pin(key, pinned) : Result<void>();
  if (!kept) log::error("context", "{}: {}", key.id, kept.error().message);
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  const uint64_t bytes = at->second.context.bytes;
  uint64_t& of_tenant = usage_[key.tenant].pinned_bytes;
  of_tenant = pinned ? of_tenant + bytes : of_tenant - bytes;
  stats_.pinned_bytes = pinned ? stats_.pinned_bytes + bytes : stats_.pinned_bytes - bytes;
  mark_pinned(at, pinned);
}

/// False when it cannot be found out whether it has been put there again. Precondition: the right
/// to change it.
bool Store::take_drop(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.context.shared) return true;
  }
  const auto there = shared_->find(key);
  if (!there) return failed(there.error());
  if (!*there) forget(key);
  return true;
}

}  // namespace signalbox::contexts
