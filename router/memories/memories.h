#pragma once
// Memories are what users wrote in earlier conversations, with the answers. Each user has a part of
// its own, and every function needs the user's name, so that nobody reaches the memories of
// another.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/word_search/hybrid.h"

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
  double similarity;  // to the text that was searched for, -1 to 1; with its words, the score
};

/// An embedding, and the name of the model that made it. Vectors of different models cannot be
/// compared.
struct Vector {
  std::string model = {};
  std::vector<float> values = {};  // (dim)
};

/// A text whose words count in a search, too. A memory below the required similarity is found if it
/// contains a distinctive word of the text (word_search::find_words).
struct WordQuery {
  std::string_view text;
  word_search::Hybrid hybrid = {};
};

/// A memory is forgotten once exp(-days since its last use / (strength_days + uses)) falls below
/// `retention_min`.
struct MemoryLimits {
  size_t of_user = 1000;
  size_t total = 100'000;
  uint64_t bytes = uint64_t{256} << 20;
  double strength_days = 30;
  double retention_min = 0.1;
  bool keeps_words = false;  // of each memory, for searches by words
};

/// The store of all memories: LocalMemories keeps them in this process, and shared_memories shares
/// them among routers. Thread-safe. If routers share the memories, functions may block within a
/// time limit and also return kUpstream; moment(), use(), add(), size() and shared() never block.
class Memories {
 public:
  virtual ~Memories() = default;

  /// Takes effect at the next change.
  virtual void set_limits(const MemoryLimits& limits) = 0;

  /// Returns at most `most` memories of the user with at least the given similarity, the most
  /// similar first. If `words` is null, only similarity counts. Errors: kInvalid for a vector that
  /// is empty, zero or not finite.
  virtual Result<std::vector<Found>> search(std::string_view user, const Vector& vector,
                                            size_t most, double similarity_min,
                                            const WordQuery* words, TimePoint now) = 0;
  /// Records that these memories were added to a request, which keeps them longer.
  virtual void use(std::string_view user, std::span<const std::string> ids, TimePoint now) = 0;

  /// A number that grows when a user forgets everything. Take it when a turn begins.
  virtual uint64_t moment() const = 0;
  /// Adds a turn that began at `moment`. It replaces the user's memory with the same text. Returns
  /// its id, or "" if the user has forgotten everything since `moment`. Errors: as for search();
  /// kTooLarge for a memory larger than the store.
  virtual Result<std::string> add(std::string_view user, Memory memory, const Vector& vector,
                                  uint64_t moment, TimePoint now) = 0;

  struct Page {
    std::vector<Memory> memories = {};  // the newest first
    size_t total = 0;                   // of the user
  };
  virtual Result<Page> list(std::string_view user, size_t most, TimePoint now) = 0;
  /// nullopt if the user has no such memory.
  virtual Result<std::optional<Memory>> find(std::string_view user, std::string_view id,
                                             TimePoint now) = 0;

  /// Returns true if the user had it.
  virtual Result<bool> forget(std::string_view user, std::string_view id) = 0;
  /// Forgets all memories of the user, and the turns that have begun and not ended. Returns the
  /// number of forgotten memories.
  virtual Result<size_t> forget_all(std::string_view user) = 0;

  struct Size {
    size_t memories = 0, users = 0;
    uint64_t bytes = 0;
  };
  /// The size of the memories in this process.
  virtual Size size() const = 0;

  struct Shared {
    bool works = true;                               // the server responds and accepts changes
    uint64_t waiting = 0;                            // changes that it does not have yet
    uint64_t written = 0, refused = 0, dropped = 0;  // changes
  };
  /// nullopt if routers do not share the memories.
  virtual std::optional<Shared> shared() const { return std::nullopt; }
};

std::string new_memory_id();

}  // namespace signalbox::memories
