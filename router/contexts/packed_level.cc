// Packing and unpacking take milliseconds, so they run outside the lock.

#include "router/contexts/packed_level.h"

#include "router/contexts/zstd.h"

namespace signalbox::contexts {

Result<void> PackedLevel::put(const Context& context, std::string_view content) {
  auto packed = std::make_shared<const std::string>(compress(content, compression_));
  const std::lock_guard lock(mutex_);
  auto& slot = packed_[context.key];
  if (slot != nullptr) bytes_ -= slot->size();
  bytes_ += packed->size();
  slot = std::move(packed);
  return {};
}

Result<std::string> PackedLevel::get(const Context& context) {
  std::shared_ptr<const std::string> packed;
  {
    const std::lock_guard lock(mutex_);
    const auto found = packed_.find(context.key);
    if (found != packed_.end()) packed = found->second;
  }
  if (packed == nullptr) return fail(Code::kNotFound, "{}: not there", context.key.id);
  return decompress(*packed, context.bytes);
}

Result<void> PackedLevel::drop(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = packed_.find(key);
  if (found == packed_.end()) return {};
  bytes_ -= found->second->size();
  packed_.erase(found);
  return {};
}

uint64_t PackedLevel::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace signalbox::contexts
