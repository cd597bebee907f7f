#pragma once
// The level of the store below memory, of this router alone: where contexts are that nobody uses at
// the moment, smaller and slower. One is in memory (packed_level), one on disk (disk_level). What
// several routers share is below it, and another thing: shared_level.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/contexts/context.h"

namespace signalbox::contexts {

struct Recovered {
  std::vector<Context> contexts;
  std::vector<std::string> rejected;  // what was there and is none, and why, one line each
};

/// Thread-safe for different keys; of one key the store asks for one change at a time.
class Level {
 public:
  virtual ~Level() = default;

  /// For metrics and answers: "disk".
  virtual std::string_view name() const = 0;
  /// Whether what put() has accepted outlives the process. A context is put there before its client
  /// is told that it is stored; where nothing outlives, when it leaves memory.
  virtual bool is_durable() const = 0;

  /// Errors: kIo.
  virtual Result<void> put(const Context& context, std::string_view content) = 0;
  /// Errors: kNotFound, kCorrupt, kIo.
  virtual Result<std::string> get(const Context& context) = 0;
  /// Nothing happens where it is not. Errors: kIo, and it may still be there.
  virtual Result<void> drop(const Key& key) = 0;
  /// As durable as put(). Errors: kIo.
  virtual Result<void> pin(const Key& key, bool pinned) = 0;
  /// What it holds, to be asked once, first.
  virtual Recovered recover() = 0;
  /// Of what it holds, as it holds it.
  virtual uint64_t bytes() const = 0;
};

}  // namespace signalbox::contexts
