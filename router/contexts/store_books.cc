// The bookkeeping of the store: usage per tenant, the level of each context and the order of use.
// All of these functions require the lock.

#include "router/contexts/store.h"

namespace signalbox::contexts {
namespace {

/// Uses of a context are reported to the shared level this often within its time to live.
constexpr int64_t kTouchesInTtl = 8;

}  // namespace

Result<void> Store::reserve(const Key& key, uint64_t bytes) {
  const auto found = usage_.find(key.tenant);
  const Usage usage = found == usage_.end() ? Usage{} : found->second;
  const auto refuse = [&](std::string_view what, uint64_t has, uint64_t most) {
    ++stats_.refused;
    return fail(Code::kTooLarge, "the contexts {} take {} of {} bytes, and this one needs {} more",
                what, has, most, bytes);
  };
  if (usage.bytes + bytes > limits_.tenant_bytes_max)
    return refuse("of this client", usage.bytes, limits_.tenant_bytes_max);
  if (usage.contexts >= limits_.tenant_contexts_max) {
    ++stats_.refused;
    return fail(Code::kTooLarge, "this client has {} contexts, the most that it may have",
                usage.contexts);
  }
  if (stats_.bytes + bytes > limits_.bytes_max)
    return refuse("of all clients", stats_.bytes, limits_.bytes_max);
  if (stats_.contexts >= limits_.contexts_max) {
    ++stats_.refused;
    return fail(Code::kTooLarge, "there are {} contexts, the most that there may be",
                stats_.contexts);
  }
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

/// Adds a context that a lower level already has, regardless of limits.
Store::Entries::iterator Store::add_existing(Context context, bool is_below, int64_t now) {
  Usage& usage = usage_[context.key.tenant];
  usage.bytes += context.bytes;
  ++usage.contexts;
  stats_.bytes += context.bytes;
  return insert(std::move(context), nullptr, is_below, now);
}

Result<void> Store::reserve_pin(const Context& context) {
  Usage& usage = usage_[context.key.tenant];
  const uint64_t of_tenant = usage.pinned_bytes + context.bytes;
  const uint64_t of_all = stats_.pinned_bytes + context.bytes;
  if (of_tenant > limits_.tenant_pinned_bytes || of_all > limits_.memory_bytes / 2) {
    const bool is_own = of_tenant > limits_.tenant_pinned_bytes;
    ++stats_.refused;
    return fail(Code::kTooLarge, "pinned contexts {} would take {} bytes; at most {}",
                is_own ? "of this client" : "of all clients", is_own ? of_tenant : of_all,
                is_own ? limits_.tenant_pinned_bytes : limits_.memory_bytes / 2);
  }
  usage.pinned_bytes += context.bytes;
  stats_.pinned_bytes += context.bytes;
  return {};
}

void Store::mark_pinned(Entries::iterator at, bool pinned) {
  at->second.context.pinned = pinned;
  stats_.pinned += pinned ? 1 : -1;
  move_to_order(at);
}

void Store::mark_below(Entry& entry) {
  stats_.below += !entry.is_below;
  entry.is_below = true;
}

void Store::unmark_below(Entry& entry) {
  stats_.below -= entry.is_below;
  entry.is_below = false;
}

void Store::mark_shared(Entry& entry, uint64_t packed_bytes) {
  stats_.shared += !entry.context.shared;
  stats_.shared_bytes += packed_bytes - entry.shared_bytes;
  entry.shared_bytes = packed_bytes;
  entry.context.shared = true;
}

void Store::mark_unshared(Entry& entry) {
  stats_.shared -= entry.context.shared;
  stats_.shared_bytes -= entry.shared_bytes;
  entry.shared_bytes = 0;
  entry.context.shared = false;
}

/// Moves the entry to the end of the list that its state calls for: most recently used.
void Store::move_to_order(Entries::iterator at) {
  Entry& entry = at->second;
  Order& order = entry.context.pinned ? pinned_
                 : entry.content      ? in_memory_
                 : entry.is_below     ? packed_
                                      : remote_;
  if (entry.order != nullptr) {
    order.splice(order.end(), *entry.order, entry.place);
  } else {
    entry.place = order.insert(order.end(), at);
  }
  entry.order = &order;
}

void Store::set_content(Entry& entry, Content content) {
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
  entry.number = ++entries_made_;
  entry.used = now;
  entry.context = std::move(context);
  entry.context.shared = false;  // mark_shared() sets and counts it
  Key key = entry.context.key;
  const auto at = entries_.emplace(std::move(key), std::move(entry)).first;
  ++stats_.contexts;
  const Context& made = at->second.context;
  if (made.pinned) {
    ++stats_.pinned;
    stats_.pinned_bytes += made.bytes;
    usage_[made.key.tenant].pinned_bytes += made.bytes;
  }
  if (is_below) mark_below(at->second);
  set_content(at->second, std::move(content));
  move_to_order(at);
  return at;
}

void Store::erase(Entries::iterator at) {
  Entry& entry = at->second;
  set_content(entry, nullptr);
  if (entry.context.pinned) {
    --stats_.pinned;
    stats_.pinned_bytes -= entry.context.bytes;
    usage_.find(at->first.tenant)->second.pinned_bytes -= entry.context.bytes;
  }
  --stats_.contexts;
  unmark_below(entry);
  mark_unshared(entry);
  pending_.erase(at->first);
  release(at->first, entry.context.bytes);
  entry.order->erase(entry.place);
  entries_.erase(at);
}

void Store::use(Entry& entry, int64_t now) {
  entry.used = now;
  entry.order->splice(entry.order->end(), *entry.order, entry.place);
  const bool is_known = now - entry.touched < limits_.ttl_s / kTouchesInTtl;
  if (entry.context.shared && limits_.ttl_s != 0 && !is_known) pending_.insert(entry.context.key);
}

}  // namespace signalbox::contexts
