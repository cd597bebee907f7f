// Entries are in order of arrival, which is also their order of age, so a single list serves both
// the size limit and the time to live.

#include "router/dialects/response_store.h"

#include <algorithm>
#include <limits>

namespace signalbox::dialects {
namespace {

constexpr size_t kOverheadBytes = 256;  // of list, map and control block
constexpr size_t kIdBytesMax = 64;      // ours are shorter

}  // namespace

size_t StoredResponse::bytes() const {
  return owner.capacity() + response.capacity() + input.memory_bytes() + messages.capacity() +
         kOverheadBytes;
}

size_t StoredResponse::text_bytes() const {
  return owner.size() + response.size() + input.size() + messages.size() + kOverheadBytes;
}

bool ResponseStore::is_expired(const StoredResponse& response, int64_t now) const {
  return now - response.since >= limits_.ttl_s;
}

int64_t ResponseStore::left(const StoredResponse& response, int64_t now) const {
  const std::lock_guard lock(mutex_);
  return limits_.ttl_s - std::max<int64_t>(0, now - response.since);
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
         (is_expired(*entries_.front().response, now) || entries_.size() >= limits_.responses ||
          bytes_ + bytes > limits_.bytes)) {
    erase(entries_.begin());
  }
}

ResponsePointer ResponseStore::put(std::string id, StoredResponse response, int64_t now) {
  response.since = now;
  auto stored = std::make_shared<const StoredResponse>(std::move(response));
  const size_t bytes = stored->bytes();
  const std::lock_guard lock(mutex_);
  if (const auto old = by_id_.find(id); old != by_id_.end()) erase(old->second);
  if (bytes > limits_.bytes || limits_.responses == 0) return stored;
  make_room(bytes, now);
  const auto entry = entries_.insert(entries_.end(), Entry{std::move(id), stored});
  by_id_.emplace(entry->id, entry);
  bytes_ += bytes;
  return stored;
}

const ResponseStore::Entry* ResponseStore::entry_of(std::string_view id, std::string_view owner,
                                                    int64_t now) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  const Entry& entry = *found->second;
  return entry.response->owner == owner && !is_expired(*entry.response, now) ? &entry : nullptr;
}

ResponsePointer ResponseStore::get(std::string_view id, std::string_view owner, int64_t now) const {
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

void ResponseStore::forget(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(id); found != by_id_.end()) erase(found->second);
}

std::vector<std::pair<std::string, ResponsePointer>> ResponseStore::all(int64_t now) const {
  std::vector<std::pair<std::string, ResponsePointer>> out;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (!is_expired(*entry.response, now)) out.emplace_back(entry.id, entry.response);
  }
  return out;
}

// The shared level is read first, because another router may have removed the response.
Result<ResponsePointer> ResponseStore::find(std::string_view id, std::string_view owner,
                                            int64_t now, size_t& loads_max) {
  auto here = get(id, owner, now);
  SharedResponses* const below = below_;
  if (below == nullptr || id.size() > kIdBytesMax) return here;
  auto found = below->get(id, here != nullptr, loads_max);
  if (!found && !here) return tl::unexpected(std::move(found).error());
  if (!found) return here;
  if (found->is_removed) {
    forget(id);
    return nullptr;
  }
  if (here || !found->response) return here;
  loads_max -= std::min(loads_max, found->response->bytes());
  const bool is_owned = found->response->owner == owner && left(*found->response, now) > 0;
  return is_owned ? std::move(found->response) : nullptr;
}

Result<ResponsePointer> ResponseStore::find(std::string_view id, std::string_view owner,
                                            int64_t now) {
  size_t loads_max = std::numeric_limits<size_t>::max();
  return find(id, owner, now, loads_max);
}

Result<bool> ResponseStore::withdraw(std::string_view id, std::string_view owner, int64_t now) {
  SharedResponses* const below = below_;
  if (below == nullptr) return remove(id, owner, now);
  SIGNALBOX_TRY(const auto found, find(id, owner, now));
  if (found == nullptr) return false;
  SIGNALBOX_TRY_VOID(below->remove(id, left(*found, now)));
  forget(id);
  return true;
}

std::optional<std::chrono::milliseconds> ResponseStore::publish(std::string_view id,
                                                                ResponsePointer response,
                                                                int64_t now,
                                                                std::function<void()> done) {
  SharedResponses* const below = below_;
  if (below == nullptr) return std::nullopt;
  const int64_t ttl_s = left(*response, now);
  const auto patience = below->patience(*response);
  below->put(id, std::move(response), ttl_s, std::move(done));
  return patience;
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
