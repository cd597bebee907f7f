#pragma once
// Memories in the process, with an index of their vectors.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/memories/memories.h"

namespace signalbox::memories {

/// A full store drops the weakest memory of a user who has too many, and otherwise the memory that
/// was used longest ago.
class LocalMemories final : public Memories {
 public:
  LocalMemories();
  ~LocalMemories() override;

  void set_limits(const MemoryLimits& limits) override;
  Result<std::vector<Found>> search(std::string_view user, const Vector& vector, size_t most,
                                    double similarity_min, const WordQuery* words,
                                    TimePoint now) override;
  void use(std::string_view user, std::span<const std::string> ids, TimePoint now) override;
  uint64_t moment() const override;
  Result<std::string> add(std::string_view user, Memory memory, const Vector& vector,
                          uint64_t moment, TimePoint now) override;
  Result<Page> list(std::string_view user, size_t most, TimePoint now) override;
  Result<std::optional<Memory>> find(std::string_view user, std::string_view id,
                                     TimePoint now) override;
  Result<bool> forget(std::string_view user, std::string_view id) override;
  Result<size_t> forget_all(std::string_view user) override;
  Size size() const override;

  // These two serve routers that keep copies of a shared store here.
  /// Keeps a memory with its id and its times. Does nothing if a memory with that id exists.
  /// Errors: as for add().
  Result<void> keep(std::string_view user, Memory memory, const Vector& vector, TimePoint now);
  /// The ids of the user's memories, in order.
  std::vector<std::string> ids(std::string_view user) const;
  size_t count(std::string_view user) const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::memories
