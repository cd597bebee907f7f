// One lock for the books, under which nothing is packed, read or written. A context that is being
// written, moved or dropped is in `changing_` meanwhile, and whoever else wants to change it waits.

#include "router/context/store.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/log.h"

namespace signalbox::context {
namespace {

tl::unexpected<Error> not_found(const Key& key) {
  return fail(Code::kNotFound, "there is no context {}",
              is_id(key.id) ? key.id : json::quote_briefly(key.id));
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
  for (Context& context : recovered.contexts) take_up(std::move(context), now);
}

void Store::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
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
void Store::meet(const Key& key) {
  {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(key)) return;
  }
  const Change change(*this, key);
  auto found = below_->find(key);
  if (!found) log::warn("context", "{}: {}", below_->name(), found.error().message);
  if (!found || !*found) return;
  const std::lock_guard lock(mutex_);
  if (!entries_.contains(key)) take_up(**found, (*found)->created);
}

Result<Store::Content> Store::get(const Key& key, int64_t now) {
  meet(key);
  Context packed;
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
    packed = found->second.context;
  }
  return page_in(packed, now);
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
  meet(key);
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return not_found(key);
  return found->second.context;
}

Result<Context> Store::pin(const Key& key, bool pinned) {
  meet(key);
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
  meet(key);
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
    if (packed) be_below(entries_.find(context.key)->second);
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
