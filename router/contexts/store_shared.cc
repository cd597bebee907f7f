// The store and the shared level: calls to it, and changes that other routers made. Nothing here
// waits for that level while it holds the lock.

#include <utility>

#include "base/log.h"
#include "router/contexts/store_change.h"

namespace signalbox::contexts {

/// Counts a failed call. Always returns false, for callers that go on without the shared level.
bool Store::count_failure(const Error&) {
  const std::lock_guard lock(mutex_);
  ++stats_.shared_failures;
  return false;
}

/// Adds the entry of a context that another router may just have stored.
Result<void> Store::import_shared(const Key& key) {
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
    count_failure(found.error());
    return unavailable(key);
  }
  if (!*found) return {};
  const std::lock_guard lock(mutex_);
  const int64_t used = (*found)->context.created;
  mark_shared(add_existing((*found)->context, false, used)->second, (*found)->packed_bytes);
  return {};
}

Result<std::string> Store::read(const Context& context, bool is_below, bool& is_remote) {
  Result<std::string> here = fail(Code::kNotFound, "{}: not there", context.key.id);
  if (is_below) here = below_->get(context);
  if (here || !context.shared) return here;
  Result<std::string> there = shared_->get(context);
  is_remote = there.has_value();
  if (!there && there.error().code == Code::kUpstream) count_failure(there.error());
  return is_below && !there && there.error().code == Code::kNotFound ? here : there;
}

// --- reports to the shared level ---

/// Also keeps a context that other routers have used lately.
Result<bool> Store::is_used_elsewhere(const Context& context, int64_t now) {
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    ttl_s = limits_.ttl_s;
  }
  const auto idle = shared_->idle(context, ttl_s);
  if (!idle) {
    count_failure(idle.error());
    return tl::unexpected(idle.error());
  }
  if (!*idle || **idle >= ttl_s) return false;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.find(context.key)->second;
  entry.used = now - **idle;
  entry.order->splice(entry.order->end(), *entry.order, entry.place);
  return true;
}

/// Returns true if one idle context was given up to the shared level.
bool Store::release_below(int64_t now) {
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
  if (!idle) count_failure(idle.error());
  const Result<void> dropped = is_there ? below_->drop(context.key) : Result<void>();
  {
    const std::lock_guard lock(mutex_);
    changing_.erase(context.key);
    const auto at = entries_.find(context.key);
    if (is_there && dropped) unmark_below(at->second);
    move_to_order(at);
    if (idle && !*idle) pending_.insert(context.key);
  }
  changed_.notify_all();
  if (!dropped) log::error("context", "{}: {}", context.key.id, dropped.error().message);
  return is_there && dropped;
}

/// Sends each pending context once, beginning where the last round ended, so that a context that
/// fails does not block the others.
void Store::send_pending(int64_t now) {
  for (;;) {
    Key key;
    {
      const std::lock_guard lock(mutex_);
      if (!is_compared_) return;
      const auto next = pending_.upper_bound(last_sent_);
      last_sent_ = next == pending_.end() ? Key{} : *next;
      if (next == pending_.end()) return;
      key = last_sent_;
    }
    if (!send_pending(key, now)) return;
  }
}

bool Store::send_pending(const Key& key, int64_t now) {
  const Change change(*this, key);
  Context context;
  Content content;
  bool is_below = false;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    pending_.erase(key);
    if (found == entries_.end()) return true;
    context = found->second.context;
    content = found->second.content;
    is_below = found->second.is_below;
    ttl_s = limits_.ttl_s;
  }
  const auto fail_pending = [&](const Error& error) {
    count_failure(error);
    const std::lock_guard lock(mutex_);
    pending_.insert(key);
    return false;
  };
  if (context.shared) {
    const auto touched = shared_->touch(context, ttl_s);
    if (!touched) return fail_pending(touched.error());
    if (*touched) {
      const std::lock_guard lock(mutex_);
      entries_.find(key)->second.touched = now;
      return true;
    }
    // It was dropped and the notice has not arrived yet, or the shared level lost it.
    const auto dropped = shared_->dropped({&key, 1});
    if (!dropped) return fail_pending(dropped.error());
    if (dropped->front() || (content == nullptr && !is_below)) {
      forget(key);
      return true;
    }
    const std::lock_guard lock(mutex_);
    mark_unshared(entries_.find(key)->second);
  }
  if (content == nullptr) {
    Result<std::string> read = below_->get(context);
    if (!read) {
      keep_pending(key, read.error());
      return true;  // the next one may be readable
    }
    content = std::make_shared<const std::string>(*std::move(read));
  }
  const auto packed = shared_->put(context, *content, ttl_s);
  if (!packed) return fail_pending(packed.error());
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.find(key)->second;
  mark_shared(entry, *packed);
  entry.touched = now;
  entry.logged_error.reset();
  return true;
}

/// Handles a context that cannot be read here. A read that may succeed later is tried again in the
/// next round. A damaged context cannot be sent any more; get() reports the damage to its client.
void Store::keep_pending(const Key& key, const Error& error) {
  const bool may_pass = error.code == Code::kIo;
  bool is_new_error = false;
  {
    const std::lock_guard lock(mutex_);
    if (may_pass) pending_.insert(key);
    Entry& entry = entries_.find(key)->second;
    is_new_error = std::exchange(entry.logged_error, error.code) != error.code;
  }
  if (is_new_error)
    log::error("context", "{}: the shared level does not have it, and it {}: {}", key.id,
               may_pass ? "cannot be read at the moment; the router will try again"
                        : "cannot be sent there, because it is damaged here",
               error.message);
}

/// Precondition: the caller holds the right to change it.
void Store::forget(const Key& key) {
  const Result<void> dropped = below_->drop(key);
  if (!dropped) log::error("context", "{}: {}", key.id, dropped.error().message);
  const std::lock_guard lock(mutex_);
  if (dropped) erase(entries_.find(key));
}

// --- changes of other routers ---

bool Store::follow(std::chrono::milliseconds wait, int64_t now) {
  if (cursor_.empty()) return compare(now);
  const auto changes = shared_->follow(cursor_, wait);
  bool is_ok = changes ? true : count_failure(changes.error());
  if (changes) {
    for (const SharedChange& change : *changes) is_ok = is_ok && apply_change(change, now);
  }
  if (is_ok) return true;
  cursor_.clear();
  const std::lock_guard lock(mutex_);
  is_compared_ = false;  // a missing context may have been dropped, so send nothing until the
                         // comparison is done
  return false;
}

/// Compares all contexts of the shared level with all that are known here.
bool Store::compare(int64_t now) {
  auto survey = shared_->survey();
  if (!survey) return count_failure(survey.error());
  std::set<Key> there;
  for (Shared& shared : survey->all) {
    there.insert(shared.context.key);
    apply_change({std::move(shared)}, now);
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
  if (!dropped) return count_failure(dropped.error());
  for (size_t i = 0; i < missing.size(); ++i) compare(missing[i], (*dropped)[i]);
  cursor_ = std::move(survey->cursor);
  const std::lock_guard lock(mutex_);
  is_compared_ = true;
  return true;
}

/// Handles a context that the survey did not find.
void Store::compare(const Context& known, std::optional<int64_t> dropped) {
  const Change change(*this, known.key);
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(known.key);
    if (found == entries_.end() || found->second.context.shared != known.shared) return;
    Entry& entry = found->second;
    // A context that was put there again after a drop is not listed as dropped. One that could not
    // be put there yet, because the level was unavailable, may have been stored after the drop.
    const bool is_dropped = dropped && (known.shared || *dropped > known.created);
    const bool is_here = entry.content != nullptr || entry.is_below;
    if (!is_dropped && is_here) {
      mark_unshared(entry);
      pending_.insert(known.key);
      return;
    }
  }
  forget(known.key);
}

bool Store::apply_change(const SharedChange& change, int64_t now) {
  const Context& context = change.what.context;
  const Change exclusive(*this, context.key);
  if (change.is_gone) return apply_drop(context.key);
  {
    const std::lock_guard lock(mutex_);
    auto at = entries_.find(context.key);
    if (at == entries_.end()) {
      // This pins a context that was dropped before that router learned of the drop.
      if (change.what.packed_bytes == 0) return true;
      if (stats_.contexts >= limits_.contexts_max) return true;  // a request for it will find it
      at = add_existing(context, false, now);
    }
    Entry& entry = at->second;
    const uint64_t packed = change.what.packed_bytes;
    mark_shared(entry, packed != 0 ? packed : entry.shared_bytes);
    if (entry.context.pinned == context.pinned) return true;
  }
  apply_pin(context.key, context.pinned);
  return true;
}

/// Precondition: the caller holds the right to change it.
void Store::apply_pin(const Key& key, bool pinned) {
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

/// Returns false if the shared level cannot be read: the context may have been put there again.
/// Precondition: the caller holds the right to change it.
bool Store::apply_drop(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !found->second.context.shared) return true;
  }
  const auto there = shared_->find(key);
  if (!there) return count_failure(there.error());
  if (!*there) forget(key);
  return true;
}

}  // namespace signalbox::contexts
