// One lock protects the bookkeeping, and nothing is packed, read or written under it. While a
// context is written, moved or dropped, its key is in `changing_`, and every other change of it
// waits.

#include "router/contexts/store.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/log.h"
#include "router/contexts/store_change.h"

namespace signalbox::contexts {
namespace {

tl::unexpected<Error> not_found(const Key& key) {
  return fail(Code::kNotFound, "there is no context {}",
              is_id(key.id) ? key.id : json::quote_briefly(key.id));
}

}  // namespace

tl::unexpected<Error> Store::unavailable(const Key& key) {
  return fail(Code::kUpstream, "context {}: the shared level does not respond at the moment",
              key.id);
}

Store::Store(const Limits& limits, std::unique_ptr<Level> below, int64_t now,
             std::unique_ptr<SharedLevel> shared)
    : below_(std::move(below)), shared_(std::move(shared)), limits_(limits) {
  Recovered recovered = below_->recover();
  rejected_ = std::move(recovered.rejected);
  stats_.damaged = rejected_.size();
  for (Context& context : recovered.contexts) add_existing(std::move(context), true, now);
}

void Store::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

// --- client requests ---

Result<Store::Put> Store::put(std::string_view tenant, std::string content, uint32_t messages,
                              int64_t now) {
  Context context{{std::string(tenant), id_of(content)}, content.size(), messages, now};
  const Key key = context.key;
  const bool use_shared = shared_ != nullptr && import_shared(key).has_value();
  bool is_new = true, is_remote = false;
  {
    const Change change(*this, key);
    int64_t ttl_s = 0;
    {
      const std::lock_guard lock(mutex_);
      ttl_s = limits_.ttl_s;
      if (const auto found = entries_.find(key); found != entries_.end()) {
        is_new = false;
        use(found->second, now);
        context = found->second.context;
        is_remote = found->second.order == &remote_;
      } else {
        if (context.bytes > limits_.context_bytes_max) {
          ++stats_.refused;
          return fail(Code::kTooLarge, "messages: {} bytes; a context has at most {}",
                      context.bytes, limits_.context_bytes_max);
        }
        SIGNALBOX_TRY_VOID(reserve(key, context.bytes));
      }
    }
    // A context that only the shared level has is written there again, because it may have been
    // damaged.
    if (is_new || is_remote) {
      const bool is_below = below_->is_durable();
      const Result<void> written = is_below ? below_->put(context, content) : Result<void>();
      std::optional<uint64_t> packed;
      if (written && use_shared) {
        const auto shared = shared_->put(context, content, ttl_s);
        if (shared) packed = *shared;
        if (!shared) count_failure(shared.error());
      }
      const std::lock_guard lock(mutex_);
      if (!written) {
        if (is_new) release(key, context.bytes);
        return tl::unexpected(written.error());
      }
      const auto at = is_new ? insert(std::move(context), nullptr, false, now) : entries_.find(key);
      Entry& entry = at->second;
      if (is_below) mark_below(entry);
      if (packed) mark_shared(entry, *packed);
      if (shared_ != nullptr && !packed) pending_.insert(key);
      entry.touched = now;
      set_content(entry, std::make_shared<const std::string>(std::move(content)));
      move_to_order(at);
      context = entry.context;
      stats_.puts += is_new;
    }
  }
  if (is_new || is_remote) make_room(now);
  return Put{std::move(context), is_new};
}

Result<Store::Content> Store::get(const Key& key, int64_t now) {
  SIGNALBOX_TRY_VOID(import_shared(key));
  Context known;
  uint64_t number = 0;
  bool is_below = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      ++stats_.misses;
      return not_found(key);
    }
    use(found->second, now);
    if (found->second.content != nullptr) {
      ++stats_.memory_hits;
      return found->second.content;
    }
    known = found->second.context;
    number = found->second.number;
    is_below = found->second.is_below;
  }
  return page_in(known, number, is_below, now);
}

Result<Store::Content> Store::page_in(const Context& context, uint64_t number, bool is_below,
                                      int64_t now) {
  bool is_remote = false;
  Result<std::string> read = this->read(context, is_below, is_remote);
  Content content;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(context.key);
    const bool is_missing = !read && read.error().code == Code::kNotFound;
    const bool is_changing = changing_.contains(context.key);
    if (found != entries_.end() && found->second.content != nullptr) {  // another thread was faster
      ++(is_remote ? stats_.shared_hits : stats_.below_hits);
      return found->second.content;
    }
    // The context was dropped and stored again in the meantime, so the failed read does not concern
    // the new one. The client's request came before the new one existed, so it gets kNotFound.
    if (found != entries_.end() && is_missing && found->second.number != number) {
      ++stats_.misses;
      return not_found(context.key);
    }
    // The context was or is being dropped, or it was in no other level and is gone. The level below
    // may also have given it up to the shared level during the read, where another router dropped
    // it.
    const bool was_below = is_below && found != entries_.end() && found->second.is_below;
    if (found == entries_.end() || (is_missing && (is_changing || !was_below))) {
      ++stats_.misses;
      if (found != entries_.end() && !is_changing) erase(found);
      return not_found(context.key);
    }
    if (!read) {
      if (read.error().code == Code::kUpstream) return unavailable(context.key);
      log::error("context", "{}: {}", context.key.id, read.error().message);
      if (read.error().code == Code::kIo)
        return fail(Code::kIo, "context {} cannot be read at the moment", context.key.id);
      ++stats_.damaged;
      if (!is_changing) erase(found);
      return fail(Code::kCorrupt, "context {} was damaged and is lost; store it again",
                  context.key.id);
    }
    ++(is_remote ? stats_.shared_hits : stats_.below_hits);
    content = std::make_shared<const std::string>(*std::move(read));
    set_content(found->second, content);
    move_to_order(found);
  }
  make_room(now);
  return content;
}

Result<Context> Store::find(const Key& key) {
  SIGNALBOX_TRY_VOID(import_shared(key));
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return not_found(key);
  return found->second.context;
}

Result<Context> Store::pin(const Key& key, bool pinned) {
  SIGNALBOX_TRY_VOID(import_shared(key));
  const Change change(*this, key);
  Context wanted;
  bool is_below = false;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return not_found(key);
    if (found->second.context.pinned == pinned) return found->second.context;
    if (pinned) {
      SIGNALBOX_TRY_VOID(reserve_pin(found->second.context));
    }
    wanted = found->second.context;
    is_below = found->second.is_below;
    ttl_s = limits_.ttl_s;
  }
  wanted.pinned = pinned;
  const Result<void> kept = keep_pin(wanted, is_below, ttl_s);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (kept) mark_pinned(found, pinned);
  if (kept.has_value() != pinned) {
    usage_[key.tenant].pinned_bytes -= wanted.bytes;
    stats_.pinned_bytes -= wanted.bytes;
  }
  if (!kept) return tl::unexpected(kept.error());
  return found->second.context;
}

Result<void> Store::keep_pin(Context wanted, bool is_below, int64_t ttl_s) {
  if (wanted.shared) {
    const auto shared = shared_->pin(wanted, ttl_s);
    if (!shared) {
      count_failure(shared.error());
      return unavailable(wanted.key);
    }
  }
  Result<void> kept = is_below ? below_->pin(wanted.key, wanted.pinned) : Result<void>();
  if (!kept && wanted.shared) {
    wanted.pinned = !wanted.pinned;
    static_cast<void>(shared_->pin(wanted, ttl_s));
  }
  return kept;
}

Result<void> Store::drop(const Key& key) {
  SIGNALBOX_TRY_VOID(import_shared(key));
  const Change change(*this, key);
  Context context;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return not_found(key);
    context = found->second.context;
    ttl_s = limits_.ttl_s;
  }
  // Drop it in the shared level first: no router may bring back a context whose client believes
  // that it is gone.
  if (shared_ != nullptr) {
    const auto dropped = shared_->drop(context, ttl_s);
    if (!dropped) {
      count_failure(dropped.error());
      return unavailable(key);
    }
  }
  SIGNALBOX_TRY_VOID(below_->drop(key));
  const std::lock_guard lock(mutex_);
  erase(entries_.find(key));
  ++stats_.drops;
  return {};
}

std::vector<Context> Store::list(std::string_view tenant, std::string_view after,
                                 size_t most) const {
  std::vector<Context> out;
  const std::lock_guard lock(mutex_);
  for (auto at = entries_.upper_bound({std::string(tenant), std::string(after)});
       at != entries_.end() && at->first.tenant == tenant && out.size() < most; ++at) {
    out.push_back(at->second.context);
  }
  return out;
}

// --- levels ---

/// Returns the first entry that is not being changed, or end().
Store::Order::iterator Store::first_idle(Order& order) const {
  return std::find_if(order.begin(), order.end(),
                      [this](Entries::iterator each) { return !changing_.contains(each->first); });
}

/// Returns true if one context has left memory.
bool Store::page_out_one(int64_t now) {
  Context context;
  Content content;
  {
    const std::lock_guard lock(mutex_);
    const auto first = first_idle(in_memory_);
    if (first == in_memory_.end()) return false;
    const Entries::iterator at = *first;
    Entry& entry = at->second;
    const bool is_idle = now - entry.used >= limits_.idle_s;
    if (!is_idle && stats_.memory_bytes <= limits_.memory_bytes) return false;
    if (entry.is_below) {
      set_content(entry, nullptr);
      move_to_order(at);
      ++stats_.page_outs;
      return true;
    }
    changing_.insert(at->first);
    context = entry.context;
    content = entry.content;
  }
  const Result<void> packed = below_->put(context, *content);
  {
    const std::lock_guard lock(mutex_);
    changing_.erase(context.key);
    if (packed) mark_below(entries_.find(context.key)->second);
  }
  changed_.notify_all();
  if (!packed) log::error("context", "{}: {}", context.key.id, packed.error().message);
  return packed
      .has_value();  // on failure, stop: the next call would most likely choose the same context
}

void Store::make_room(int64_t now) {
  while (page_out_one(now)) {
  }
}

void Store::expire(Order& order, int64_t now) {
  for (;;) {
    Context context;
    {
      const std::lock_guard lock(mutex_);
      const auto first = first_idle(order);
      if (limits_.ttl_s == 0 || first == order.end() || now - (*first)->second.used < limits_.ttl_s)
        return;
      context = (*first)->second.context;
      changing_.insert(context.key);
    }
    const Result<bool> is_used = context.shared ? is_used_elsewhere(context, now) : false;
    Result<void> dropped;
    if (is_used && !*is_used) dropped = below_->drop(context.key);
    {
      const std::lock_guard lock(mutex_);
      changing_.erase(context.key);
      if (dropped && is_used && !*is_used) {
        erase(entries_.find(context.key));
        ++stats_.expired;
      }
    }
    changed_.notify_all();
    if (dropped && is_used) continue;
    if (!dropped) log::error("context", "{}: {}", context.key.id, dropped.error().message);
    return;
  }
}

void Store::page(int64_t now) {
  expire(packed_, now);
  expire(in_memory_, now);
  expire(remote_, now);
  make_room(now);
  while (release_below(now)) {
  }
  send_pending(now);
}

Stats Store::stats() const {
  const uint64_t below_bytes = below_->bytes();
  const std::lock_guard lock(mutex_);
  Stats out = stats_;
  out.below_bytes = below_bytes;
  for (const Key& key : pending_) {
    const auto at = entries_.find(key);
    out.owed += at != entries_.end() && !at->second.context.shared;
  }
  return out;
}

}  // namespace signalbox::contexts
