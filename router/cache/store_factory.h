#pragma once
// Which store a configuration means.

#include <memory>

#include "router/cache/memory_store.h"
#include "router/config/stores.h"

namespace signalbox::cache {

/// How much of the answers, or of their heads, lies in memory. Nothing where the configuration
/// keeps none.
MemoryLimits limits_of(const config::ResponseCacheStore& store);

/// Whether two configurations mean the same store, and share its answers.
bool is_same_store(const config::ResponseCacheStore& a, const config::ResponseCacheStore& b);

/// On a server; null where answers lie in memory. Connects when it is first asked. Errors: kInvalid
/// for an address or a name that is none, kUnsupported for what is not built.
Result<std::unique_ptr<Store>> make_remote_store(const config::ResponseCacheStore& store);

}  // namespace signalbox::cache
