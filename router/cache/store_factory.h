#pragma once
// Creates the store that a configuration describes.

#include <memory>

#include "router/cache/memory_store.h"
#include "router/config/stores.h"

namespace signalbox::cache {

/// The limits of answers, or of their heads, in memory. All zero if the configuration disables the
/// cache.
MemoryLimits limits_of(const config::ResponseCacheStore& store);

/// True if two configurations describe the same store, so that they share its answers.
bool is_same_store(const config::ResponseCacheStore& a, const config::ResponseCacheStore& b);

/// Creates a store on a server; nullptr if answers are in memory only. Connects at the first call.
/// Errors: kInvalid for an invalid address or name, kUnsupported for features that are not built.
Result<std::unique_ptr<Store>> make_remote_store(const config::ResponseCacheStore& store);

}  // namespace signalbox::cache
