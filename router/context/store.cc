// One lock for the books, under which nothing is packed, read or written. A context that is being
// written, moved or dropped is in `changing_` meanwhile, and whoever else wants to change it waits.

#include "router/context/store.h"

#include <algorithm>

#include "base/log.h"

namespace signalbox::context {
namespace {

tl::unexpected<Error> not_found(const Key& key) {
  return fail(Code::kNotFound, "there is no context \"{}\"", key.id);
}

}  // namespace

/// The right to change a context, waited for.
class Store::Change {
 public:
  Change(Store& store, Key key) : store_(store), key_(std::move(key)) {
    std::unique_lock lock(store_.mutex_);
    store_.changed_.wait(lock, [this] { return !store_.changing_.contains(key_); });
    store_.changing_.insert(key_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    {
      const std::lock_guard lock(store_.mutex_);
      store_.changing_.erase(key_);
    }
    store_.changed_.notify_all();
  }

 private:
  Store& store_;
  const Key key_;
};

Store::Store(const Limits& limits, std::unique_ptr<Level> below, int64_t now)
    : below_(std::move(below)), limits_(limits) {
  Recovered recovered = below_->recover();
  rejected_ = std::move(recovered.rejected);
  stats_.damaged = rejected_.size();
  for (Context& context : recovered.contexts) {
    Usage& usage = usage_[context.key.tenant];
    usage.bytes += context.bytes;
    ++usage.contexts;
    stats_.bytes += context.bytes;
    insert(std::move(context), nullptr, true, now);
  }
}

void Store::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

// --- the books; all under the lock ---

Result<void> Store::reserve(const Key& key, uint64_t bytes) {
  const auto found = usage_.find(key.tenant);
  const Usage usage = found == usage_.end() ? Usage{} : found->second;
  const auto refuse = [&](std::string_view what, uint64_t has, uint64_t most) {
    ++stats_.refused;
    return fail(Code::kTooLarge, "the contexts {} have {} of {} bytes, and this one {} more", what,
                has, most, bytes);
  };
  if (usage.bytes + bytes > limits_.tenant_bytes_max)
    return refuse("of this client", usage.bytes, limits_.tenant_bytes_max);
  if (usage.contexts >= limits_.tenant_contexts_max) {
    ++stats_.refused;
    return fail(Code::kTooLarge, "this client has {} contexts, which is as many as it may",
                usage.contexts);
  }
  if (stats_.bytes + bytes > limits_.bytes_max)
    return refuse("of all clients", stats_.bytes, limits_.bytes_max);
  Usage& reserved = usage_[key.tenant];
  reserved.bytes += bytes;
  ++reserved.contexts;
  stats_.bytes += bytes;
  return {};
}

void Store::release(const Key& key, uint64_t bytes) {
  const auto found = usage_.find(key.tenant);
  found->second.bytes -= bytes;
  stats_.bytes -= bytes;
  if (--found->second.contexts == 0) usage_.erase(found);
}

Result<void> Store::reserve_pin(const Context& context) {
  Usage& usage = usage_[context.key.tenant];
  const uint64_t of_tenant = usage.pinned_bytes + context.bytes;
  const uint64_t of_all = stats_.pinned_bytes + context.bytes;
  if (of_tenant > limits_.tenant_pinned_bytes || of_all > limits_.memory_bytes / 2) {
    const bool is_own = of_tenant > limits_.tenant_pinned_bytes;
    ++stats_.refused;
    return fail(Code::kTooLarge, "pinned contexts {} would have {} bytes; at most {}",
                is_own ? "of this client" : "of all clients", is_own ? of_tenant : of_all,
                is_own ? limits_.tenant_pinned_bytes : limits_.memory_bytes / 2);
  }
  usage.pinned_bytes += context.bytes;
  stats_.pinned_bytes += context.bytes;
  return {};
}

/// Into the order that it belongs to, as the one used last.
void Store::file(Entries::iterator at) {
  Entry& entry = at->second;
  Order& order = entry.context.pinned ? pinned_ : entry.content ? in_memory_ : packed_;
  if (entry.among != nullptr) {
    order.splice(order.end(), *entry.among, entry.place);
  } else {
    entry.place = order.insert(order.end(), at);
  }
  entry.among = &order;
}

void Store::hold(Entry& entry, Content content) {
  if ((entry.content != nullptr) == (content != nullptr)) return;
  if (content != nullptr) {
    ++stats_.in_memory;
    stats_.memory_bytes += content->size();
  } else {
    --stats_.in_memory;
    stats_.memory_bytes -= entry.content->size();
  }
  entry.content = std::move(content);
}

Store::Entries::iterator Store::insert(Context context, Content content, bool is_below,
                                       int64_t now) {
  Entry entry;
  entry.used = now;
  entry.is_below = is_below;
  entry.context = std::move(context);
  Key key = entry.context.key;
  const auto at = entries_.emplace(std::move(key), std::move(entry)).first;
  ++stats_.contexts;
  const Context& made = at->second.context;
  if (made.pinned) {
    ++stats_.pinned;
    stats_.pinned_bytes += made.bytes;
    usage_[made.key.tenant].pinned_bytes += made.bytes;
  }
  hold(at->second, std::move(content));
  file(at);
  return at;
}

void Store::erase(Entries::iterator at) {
  Entry& entry = at->second;
  hold(entry, nullptr);
  if (entry.context.pinned) {
    --stats_.pinned;
    stats_.pinned_bytes -= entry.context.bytes;
    usage_.find(at->first.tenant)->second.pinned_bytes -= entry.context.bytes;
  }
  --stats_.contexts;
  release(at->first, entry.context.bytes);
  entry.among->erase(entry.place);
  entries_.erase(at);
}

void Store::use(Entry& entry, int64_t now) {
  entry.used = now;
  entry.among->splice(entry.among->end(), *entry.among, entry.place);
}

// --- what clients ask for ---

Result<Store::Put> Store::put(std::string_view tenant, std::string content, uint32_t messages,
                              int64_t now) {
  Context context{{std::string(tenant), id_of(content)}, content.size(), messages, now, false};
  const Key key = context.key;
  bool is_new = true;
  {
    const Change change(*this, key);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        is_new = false;
        use(found->second, now);
        context = found->second.context;
      } else {
        if (context.bytes > limits_.context_bytes_max) {
          ++stats_.refused;
          return fail(Code::kTooLarge, "messages: {} bytes; a context has at most {}",
                      context.bytes, limits_.context_bytes_max);
        }
        SIGNALBOX_TRY_VOID(reserve(key, context.bytes));
      }
    }
    if (is_new) {
      const bool is_below = below_->is_durable();
      const Result<void> written = is_below ? below_->put(context, content) : Result<void>();
      const std::lock_guard lock(mutex_);
      if (!written) {
        release(key, context.bytes);
        return tl::unexpected(written.error());
      }
      insert(context, std::make_shared<const std::string>(std::move(content)), is_below, now);
      ++stats_.puts;
    }
  }
  if (is_new) make_room(now);
  return Put{std::move(context), is_new};
}

// A level that others write to as well may have it.
void Store::adopt(const Key& key, int64_t now) {
  auto found = below_->find(key);
  if (!found) log::warn("context", "{}: {}", below_->name(), found.error().message);
  if (!found || !*found) return;
  const std::lock_guard lock(mutex_);
  if (entries_.contains(key)) return;
  Context context = **std::move(found);
  Usage& usage = usage_[key.tenant];
  usage.bytes += context.bytes;
  ++usage.contexts;
  stats_.bytes += context.bytes;
  insert(std::move(context), nullptr, true, now);
}

Result<Store::Content> Store::get(const Key& key, int64_t now) {
  for (const bool is_last : {false, true}) {
    Context packed;
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      if (found == entries_.end() && is_last) {
        ++stats_.misses;
        return not_found(key);
      }
      if (found != entries_.end()) {
        use(found->second, now);
        if (found->second.content != nullptr) {
          ++stats_.memory_hits;
          return found->second.content;
        }
        packed = found->second.context;
      }
    }
    if (packed.messages > 0) return page_in(packed, now);
    adopt(key, now);
  }
  return not_found(key);
}

Result<Store::Content> Store::page_in(const Context& context, int64_t now) {
  Result<std::string> read = below_->get(context);
  Content content;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(context.key);
    // Somebody has dropped it, or is about to.
    const bool is_going =
        !read && read.error().code == Code::kNotFound && changing_.contains(context.key);
    if (found == entries_.end() || is_going) {
      ++stats_.misses;
      return not_found(context.key);
    }
    Entry& entry = found->second;
    if (!read) {
      log::error("context", "{}: {}", context.key.id, read.error().message);
      if (read.error().code == Code::kIo)
        return fail(Code::kIo, "context {} cannot be read at the moment", context.key.id);
      ++stats_.damaged;
      if (!changing_.contains(context.key)) erase(found);
      return fail(Code::kCorrupt, "context {} was damaged and is lost: store it again",
                  context.key.id);
    }
    ++stats_.below_hits;
    content = entry.content;
    if (content == nullptr) {
      content = std::make_shared<const std::string>(*std::move(read));
      hold(entry, content);
      file(found);
    }
  }
  make_room(now);
  return content;
}

Result<Context> Store::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return not_found(key);
  return found->second.context;
}

Result<Context> Store::pin(const Key& key, bool pinned) {
  const Change change(*this, key);
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return not_found(key);
    if (found->second.context.pinned == pinned) return found->second.context;
    if (pinned) {
      SIGNALBOX_TRY_VOID(reserve_pin(found->second.context));
    }
  }
  const Result<void> kept = below_->pin(key, pinned);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  Context& context = found->second.context;
  if (kept) {
    context.pinned = pinned;
    stats_.pinned += pinned ? 1 : -1;
    file(found);
  }
  if (kept.has_value() != pinned) {
    usage_[key.tenant].pinned_bytes -= context.bytes;
    stats_.pinned_bytes -= context.bytes;
  }
  if (!kept) return tl::unexpected(kept.error());
  return context;
}

Result<void> Store::drop(const Key& key) {
  const Change change(*this, key);
  {
    const std::lock_guard lock(mutex_);
    if (!entries_.contains(key)) return not_found(key);
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

/// The first that nobody changes; the end when there is none.
Store::Order::iterator Store::first_idle(Order& order) const {
  return std::find_if(order.begin(), order.end(),
                      [this](Entries::iterator each) { return !changing_.contains(each->first); });
}

/// Whether one has left memory.
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
      hold(entry, nullptr);
      file(at);
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
    entries_.find(context.key)->second.is_below = packed.has_value();
  }
  changed_.notify_all();
  if (!packed) log::error("context", "{}: {}", context.key.id, packed.error().message);
  return packed.has_value();  // it is the next one's turn to leave, which it most likely is still
}

void Store::make_room(int64_t now) {
  while (page_out_one(now)) {
  }
}

void Store::expire(Order& order, int64_t now) {
  for (;;) {
    Key key;
    {
      const std::lock_guard lock(mutex_);
      const auto first = first_idle(order);
      if (limits_.ttl_s == 0 || first == order.end() || now - (*first)->second.used < limits_.ttl_s)
        return;
      key = (*first)->first;
      changing_.insert(key);
    }
    const Result<void> dropped = below_->drop(key);
    {
      const std::lock_guard lock(mutex_);
      changing_.erase(key);
      if (dropped) {
        erase(entries_.find(key));
        ++stats_.expired;
      }
    }
    changed_.notify_all();
    if (dropped) continue;
    log::error("context", "{}: {}", key.id, dropped.error().message);
    return;
  }
}

void Store::page(int64_t now) {
  expire(packed_, now);
  expire(in_memory_, now);
  make_room(now);
}

Stats Store::stats() const {
  const uint64_t below_bytes = below_->bytes();
  const std::lock_guard lock(mutex_);
  Stats out = stats_;
  out.below_bytes = below_bytes;
  return out;
}

}  // namespace signalbox::context
