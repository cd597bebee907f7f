// A list by last use, so that what is too old or too much is at its front.

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
         (entries_.size() > count_max_ || now - entries_.front().second.used > lifetime_)) {
    by_key_.erase(entries_.front().first);
    entries_.pop_front();
  }
}

std::optional<Conversation> Conversations::find(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  prune(now);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second->second);
}

// Precondition: the lock is held. What other routers have used may be older than the last entry.
void Conversations::keep(const std::string& key, Conversation conversation) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.erase(found->second);
    by_key_.erase(found);
  }
  auto at = entries_.end();
  while (at != entries_.begin() && std::prev(at)->second.used > conversation.used) --at;
  by_key_.emplace(key, entries_.emplace(at, key, std::move(conversation)));
}

void Conversations::put(const std::string& key, Conversation conversation) {
  const TimePoint now = conversation.used;
  if (SharedConversations* const below = below_) below->changed(key, conversation);
  const std::lock_guard lock(mutex_);
  keep(key, std::move(conversation));
  prune(now);
}

void Conversations::touch(const std::string& key, TimePoint now) {
  Conversation touched;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    found->second->second.used = now;
    entries_.splice(entries_.end(), entries_, found->second);
    touched = found->second->second;
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
  if (found != by_key_.end() && found->second->second.used >= conversation.used) return;
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
  return {entries_.begin(), entries_.end()};
}

size_t Conversations::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace signalbox::learning
