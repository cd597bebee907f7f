// Conversations are sorted by their last use, so that the ones to drop are at the front. One that
// another router has used may belong anywhere; a sorted map finds its place quickly, and requests
// wait for the lock meanwhile.

#include "router/learning/conversations.h"

namespace signalbox::learning {

void Conversations::set_lifetime(std::chrono::seconds lifetime) {
  const std::lock_guard lock(mutex_);
  lifetime_ = lifetime;
}

std::chrono::seconds Conversations::lifetime() const {
  const std::lock_guard lock(mutex_);
  return lifetime_;
}

void Conversations::prune(TimePoint now) {
  while (!entries_.empty() &&
         (entries_.size() > count_max_ || now - entries_.begin()->first > lifetime_)) {
    by_key_.erase(entries_.begin()->second.first);
    entries_.erase(entries_.begin());
  }
}

std::optional<Conversation> Conversations::find(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  prune(now);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second->second.second);
}

// Precondition: the lock is held.
void Conversations::keep(const std::string& key, Conversation conversation) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.erase(found->second);
    by_key_.erase(found);
  }
  const TimePoint used = conversation.used;
  by_key_.emplace(key, entries_.emplace(used, Entry(key, std::move(conversation))));
}

void Conversations::put(const std::string& key, Conversation conversation) {
  {
    const std::lock_guard lock(mutex_);
    keep(key, conversation);
    prune(conversation.used);
  }
  // This comes last: the shared level may answer with a later use of the conversation, which must
  // stay.
  if (SharedConversations* const below = below_) below->changed(key, conversation);
}

void Conversations::touch(const std::string& key, TimePoint now) {
  Conversation touched;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    auto entry = entries_.extract(found->second);
    entry.key() = entry.mapped().second.used = now;
    touched = entry.mapped().second;
    found->second = entries_.insert(std::move(entry));
  }
  if (SharedConversations* const below = below_) below->changed(key, touched);
}

void Conversations::forget(const std::string& key) {
  unlearn(key);
  if (SharedConversations* const below = below_) below->forgotten(key);
}

void Conversations::learn(const std::string& key, Conversation conversation, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end() && found->second->first >= conversation.used) return;
  keep(key, std::move(conversation));
  prune(now);
}

void Conversations::unlearn(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  entries_.erase(found->second);
  by_key_.erase(found);
}

std::vector<Conversations::Entry> Conversations::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> out;
  out.reserve(entries_.size());
  for (const auto& [used, entry] : entries_) out.push_back(entry);
  return out;
}

size_t Conversations::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace signalbox::learning
