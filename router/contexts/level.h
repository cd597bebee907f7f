#pragma once
// A level below memory that belongs to this router alone. It holds contexts that are not in use, in
// less space and with slower access. There is one in memory (packed_level) and one on disk
// (disk_level). Below it may lie the level that several routers share, which has an interface of
// its own: shared_level.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/contexts/context.h"

namespace signalbox::contexts {

struct Recovered {
  std::vector<Context> contexts;
  std::vector<std::string> rejected;  // files that are not valid contexts, and why, one line each
};

/// Thread-safe for different keys. The store makes one change at a time per key.
class Level {
 public:
  virtual ~Level() = default;

  /// The name for metrics and replies: "disk".
  virtual std::string_view name() const = 0;
  /// True if contexts outlive the process after put(). A context is put into a durable level before
  /// its client gets the reply; into any other level only when it leaves memory.
  virtual bool is_durable() const = 0;

  /// Errors: kIo.
  virtual Result<void> put(const Context& context, std::string_view content) = 0;
  /// Errors: kNotFound, kCorrupt, kIo.
  virtual Result<std::string> get(const Context& context) = 0;
  /// Does nothing if the context is not there. Errors: kIo; the context may then still be there.
  virtual Result<void> drop(const Key& key) = 0;
  /// Sets or clears a pin, as durably as put(). Errors: kIo.
  virtual Result<void> pin(const Key& key, bool pinned) = 0;
  /// Returns the stored contexts. Call it once, before any other function.
  virtual Recovered recover() = 0;
  /// The bytes that the contexts take in this level.
  virtual uint64_t bytes() const = 0;
};

}  // namespace signalbox::contexts
