#pragma once
// Writes the status of a resource: whether it is active, and why not.

#include <optional>
#include <string>
#include <string_view>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

enum class Kind : uint8_t { kPool, kRoute };

/// Returns "IntelligentPool", and "intelligentpools" for paths.
std::string_view name_of(Kind kind);
std::string_view plural_of(Kind kind);

/// The result for a resource. `why` is "" if it is active.
struct Acceptance {
  std::string_view reason;  // "Ready", "ValidationFailed" or "Conflict"
  std::string why;
};

/// Returns a merge patch (RFC 7396) for the status, or nullopt if the status is already correct.
/// `now` is in the format of RFC 3339.
std::optional<std::string> status_patch(Kind kind, const Resource& resource,
                                        const Acceptance& acceptance, std::string_view now);

}  // namespace signalbox::kubernetes
