// Entries are in order of arrival, which is also their order of age, so a single list serves both
// the size limit and the time to live.

#include "router/dialects/response_store.h"

namespace signalbox::dialects {
namespace {

constexpr size_t kOverheadBytes = 256;  // of list, map and control block
constexpr size_t kIdBytesMax = 64;      // ours are shorter

}  // namespace

size_t StoredResponse::bytes() const {
  return owner.size() + response.size() + input.size() + messages.size() + kOverheadBytes;
}

bool ResponseStore::is_expired(const Entry& entry, int64_t now) const {
  return now - entry.since >= limits_.ttl_s;
}

void ResponseStore::set_limits(Limits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

void ResponseStore::erase(Entries::iterator entry) {
  bytes_ -= entry->response->bytes();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::make_room(size_t bytes, int64_t now) {
  while (!entries_.empty() &&
         (is_expired(entries_.front(), now) || entries_.size() >= limits_.responses ||
          bytes_ + bytes > limits_.bytes)) {
    erase(entries_.begin());
  }
}

void ResponseStore::put(std::string id, StoredResponse response, int64_t now) {
  auto stored = std::make_shared<const StoredResponse>(std::move(response));
  const size_t bytes = stored->bytes();
  const std::lock_guard lock(mutex_);
  if (const auto old = by_id_.find(id); old != by_id_.end()) erase(old->second);
  if (bytes > limits_.bytes || limits_.responses == 0) return;
  make_room(bytes, now);
  const auto entry = entries_.insert(entries_.end(), Entry{std::move(id), now, std::move(stored)});
  by_id_.emplace(entry->id, entry);
  bytes_ += bytes;
}

const ResponseStore::Entry* ResponseStore::entry_of(std::string_view id, std::string_view owner,
                                                    int64_t now) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  const Entry& entry = *found->second;
  return entry.response->owner == owner && !is_expired(entry, now) ? &entry : nullptr;
}

std::shared_ptr<const StoredResponse> ResponseStore::get(std::string_view id,
                                                         std::string_view owner,
                                                         int64_t now) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(id, owner, now);
  return entry == nullptr ? nullptr : entry->response;
}

bool ResponseStore::remove(std::string_view id, std::string_view owner, int64_t now) {
  const std::lock_guard lock(mutex_);
  if (entry_of(id, owner, now) == nullptr) return false;
  erase(by_id_.find(id)->second);
  return true;
}

// The shared level is asked first, because another router may have removed the response.
Result<std::shared_ptr<const StoredResponse>> ResponseStore::find(std::string_view id,
                                                                  std::string_view owner,
                                                                  int64_t now) {
  auto here = get(id, owner, now);
  if (below_ == nullptr || id.size() > kIdBytesMax) return here;
  auto found = below_->get(id);
  if (!found && !here) return tl::unexpected(std::move(found).error());
  if (!found) return here;
  if (found->state == SharedResponses::State::kRemoved) {
    remove(id, owner, now);
    return nullptr;
  }
  if (found->state == SharedResponses::State::kThere)
    return found->response->owner == owner ? std::move(found->response) : nullptr;
  if (here) publish(id, owner, now);  // the shared level has lost it
  return here;
}

Result<bool> ResponseStore::withdraw(std::string_view id, std::string_view owner, int64_t now) {
  if (below_ == nullptr) return remove(id, owner, now);
  SIGNALBOX_TRY(const auto found, find(id, owner, now));
  if (found == nullptr) return false;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    ttl_s = limits_.ttl_s;
  }
  SIGNALBOX_TRY_VOID(below_->remove(id, ttl_s));
  remove(id, owner, now);
  return true;
}

void ResponseStore::publish(std::string_view id, std::string_view owner, int64_t now, bool waits) {
  if (below_ == nullptr) return;
  std::shared_ptr<const StoredResponse> response;
  int64_t ttl_s = 0;
  {
    const std::lock_guard lock(mutex_);
    const Entry* entry = entry_of(id, owner, now);
    if (entry == nullptr) return;
    response = entry->response;
    ttl_s = limits_.ttl_s - (now - entry->since);
  }
  below_->put(id, std::move(response), ttl_s, waits);
}

size_t ResponseStore::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

size_t ResponseStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace signalbox::dialects
