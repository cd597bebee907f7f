// The name of a deletion is its owner, a space, and the id or the moment.

#include "router/shared_memories/journal.h"

#include <fmt/format.h>

#include <charconv>

namespace signalbox::shared_memories {
std::string Deletion::name() const {
  return id.empty() ? fmt::format("{} {}", owner, moment) : fmt::format("{} {}", owner, id);
}

Deletion read_deletion(std::string_view name) {
  const size_t space = name.find(' ');
  if (space == std::string_view::npos || !is_owner(name.substr(0, space))) return {};
  Deletion out{std::string(name.substr(0, space)), std::string(name.substr(space + 1))};
  if (is_memory_id(out.id)) return out;
  const char* const end = out.id.data() + out.id.size();
  const auto [at, error] = std::from_chars(out.id.data(), end, out.moment);
  if (error != std::errc() || at != end || out.moment == 0 || out.moment > kMomentMax) return {};
  out.id.clear();
  return out;
}

void Journal::add(WrittenPointer memory) {
  if (is_deleted(memory->owner, memory->id, memory->entry.moment)) return;
  const std::string id = memory->id;
  const size_t bytes = memory->bytes();
  if (!by_id_.emplace(id, std::move(memory)).second) return;
  in_order_.push_back(id);
  bytes_ += bytes;
  while (bytes_ > bytes_max_ || in_order_.size() > stores::Deletions::kMax) {
    drop(in_order_.front());
    in_order_.pop_front();
  }
}

void Journal::drop(const std::string& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  bytes_ -= found->second->bytes();
  by_id_.erase(found);
}

bool Journal::learn(const Deletion& deletion, int64_t now_ms) {
  if (!deletions_.add(deletion.name(), now_ms + kDeletionMs, now_ms)) return false;
  if (!deletion.id.empty()) {
    drop(deletion.id);
    return true;
  }
  const uint64_t before = forgetters_.find(deletion.owner).value_or(0);
  forgetters_.keep(deletion.owner, std::max(before, deletion.moment));
  std::vector<std::string> over;
  for (const auto& [id, memory] : by_id_) {
    if (memory->owner == deletion.owner && memory->entry.moment < deletion.moment)
      over.push_back(id);
  }
  for (const std::string& id : over) drop(id);
  return true;
}

bool Journal::is_deleted(std::string_view owner, std::string_view id, uint64_t moment) const {
  return forgetters_.find(std::string(owner)).value_or(0) > moment ||
         deletions_.contains(Deletion{std::string(owner), std::string(id)}.name());
}

std::vector<std::pair<std::string, int64_t>> Journal::deletions(int64_t now_ms) const {
  return deletions_.all(now_ms);
}

std::vector<WrittenPointer> Journal::memories() const {
  std::vector<WrittenPointer> out;
  for (const std::string& id : in_order_) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end()) out.push_back(found->second);
  }
  return out;
}

}  // namespace signalbox::shared_memories
