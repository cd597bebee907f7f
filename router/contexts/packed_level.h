#pragma once
// Contexts compressed in memory, for a store without a directory.

#include <map>
#include <memory>
#include <mutex>

#include "router/contexts/level.h"

namespace signalbox::contexts {

class PackedLevel final : public Level {
 public:
  explicit PackedLevel(int compression) : compression_(compression) {}

  std::string_view name() const override { return "compressed"; }
  bool is_durable() const override { return false; }
  Result<void> put(const Context& context, std::string_view content) override;
  Result<std::string> get(const Context& context) override;
  Result<void> drop(const Key& key) override;
  Result<void> pin(const Key&, bool) override { return {}; }  // the store keeps the pins
  Recovered recover() override { return {}; }
  uint64_t bytes() const override;

 private:
  const int compression_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<const std::string>> packed_;  // shared with get() while it unpacks
  uint64_t bytes_ = 0;
};

}  // namespace signalbox::contexts
