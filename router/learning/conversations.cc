// A list by last use, so that what is too old or too much is at its front.

#include "router/learning/conversations.h"

namespace signalbox::learning {

void Conversations::set_lifetime(std::chrono::seconds lifetime) {
  const std::lock_guard lock(mutex_);
  lifetime_ = lifetime;
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

void Conversations::put(const std::string& key, Conversation conversation) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = conversation.used;
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    found->second->second = std::move(conversation);
    entries_.splice(entries_.end(), entries_, found->second);
  } else {
    entries_.emplace_back(key, std::move(conversation));
    by_key_.emplace(key, std::prev(entries_.end()));
  }
  prune(now);
}

void Conversations::touch(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  found->second->second.used = now;
  entries_.splice(entries_.end(), entries_, found->second);
}

void Conversations::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  entries_.erase(found->second);
  by_key_.erase(found);
}

size_t Conversations::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace signalbox::learning
