#pragma once
// The store of what users wrote in earlier conversations, with the answers. Each user has a part of
// its own, and every function needs the user's name, so that nobody reaches the memories of
// another.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::memories {

using TimePoint = std::chrono::system_clock::time_point;

/// One turn of a conversation.
struct Memory {
  std::string id = {};         // "mem_" and 32 hexadecimal digits
  std::string text;            // the user's
  std::string answer;          // the model's; may be empty
  std::string masked_by = {};  // the mask that both have passed; "": none
  TimePoint created = {}, used = {};
  uint32_t uses = 0;  // how often it was added to a request
};

struct Found {
  Memory memory;
  double similarity;  // to the text that was searched for, -1 to 1
};

/// An embedding, and the name of the model that made it: only vectors of one model compare.
struct Vector {
  std::string model = {};
  std::vector<float> values = {};  // (dim)
};

/// A memory is forgotten once exp(-days since its last use / (strength_days + uses)) falls below
/// `retention_min`.
struct MemoryLimits {
  size_t of_user = 1000;
  size_t total = 100'000;
  uint64_t bytes = uint64_t{256} << 20;
  double strength_days = 30;
  double retention_min = 0.1;
};

/// One for the process. Thread-safe. A full store drops the weakest memory of a user who has too
/// many, and otherwise the memory that was used longest ago.
class Memories {
 public:
  Memories();
  ~Memories();

  /// Holds from the next change on.
  void set_limits(const MemoryLimits& limits);

  /// The user's memories that are at least so similar, the most similar first, at most `most`.
  /// Errors: kInvalid for a vector that is empty, zero or not finite.
  Result<std::vector<Found>> search(std::string_view user, const Vector& vector, size_t most,
                                    double similarity_min, TimePoint now);
  /// Records that these memories were added to a request, which keeps them longer.
  void use(std::string_view user, std::span<const std::string> ids, TimePoint now);

  /// A number that grows when a user forgets everything. Take it when a turn begins.
  uint64_t moment() const;
  /// Adds a turn that began at `moment`, in place of one of the same user with the same text.
  /// Returns its id; "" if the user has forgotten everything meanwhile. Errors: as for search();
  /// kTooLarge for a memory larger than the store.
  Result<std::string> add(std::string_view user, Memory memory, const Vector& vector,
                          uint64_t moment, TimePoint now);

  struct Page {
    std::vector<Memory> memories;  // the newest first
    size_t total = 0;              // of the user
  };
  Page list(std::string_view user, size_t most, TimePoint now);
  /// nullopt if the user has no such memory.
  std::optional<Memory> find(std::string_view user, std::string_view id, TimePoint now);

  /// Returns whether the user had it.
  bool forget(std::string_view user, std::string_view id);
  /// Forgets all memories of the user, and turns of theirs that have begun and not ended. Returns
  /// how many memories there were.
  size_t forget_all(std::string_view user);

  struct Size {
    size_t memories = 0, users = 0;
    uint64_t bytes = 0;
  };
  Size size() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace signalbox::memories
