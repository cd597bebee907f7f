#pragma once
// Stores answers in a Milvus collection, each found by its id. Their times of writing form the log
// that all routers read. These times come from the routers' clocks, which must agree to within
// kClocksApart. An answer from a router whose clock is off further is found by its id only.

#include <chrono>
#include <memory>
#include <string>

#include "router/cache/remote.h"
#include "router/stores/milvus.h"

namespace signalbox::cache {

inline constexpr std::chrono::seconds kClocksApart{5};

struct MilvusOptions {
  stores::MilvusServer server = {};
  std::string database = {};                     // "": the default one
  std::string collection = "signalbox_answers";  // letters, digits and _
  std::string description = {};
  bool makes_collection = false;  // if it does not exist
  std::string consistency = {};   // for get(): "Bounded", "Strong"; "": the server's default
  std::chrono::milliseconds look_up_limit{100};  // for get()
  std::chrono::milliseconds write_limit{2000};   // for each exchange of the other methods

  bool operator==(const MilvusOptions&) const = default;
};

/// Connects at the first call. kInvalid for an invalid collection name and for an unreadable CA
/// file.
Result<std::unique_ptr<Remote>> make_milvus_remote(MilvusOptions options);

}  // namespace signalbox::cache
