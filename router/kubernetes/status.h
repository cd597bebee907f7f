#pragma once
// What is written into a resource's status: whether it serves, and why not.

#include <optional>
#include <string>
#include <string_view>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

enum class Kind : uint8_t { kPool, kRoute };

/// "IntelligentPool"; "intelligentpools" as paths have it.
std::string_view name_of(Kind kind);
std::string_view plural_of(Kind kind);

/// What became of a resource. `why` "": it serves.
struct Verdict {
  std::string_view reason;  // "Ready", "ValidationFailed" or "Conflict"
  std::string why;
};

/// A merge patch (RFC 7396) for the status; empty when the resource says so already. `now` is as
/// RFC 3339 has it.
std::optional<std::string> status_patch(Kind kind, const Resource& resource, const Verdict& verdict,
                                        std::string_view now);

}  // namespace signalbox::kubernetes
