#pragma once
// Milvus: a collection of answers, each found by its id, whose times of writing are the log that
// all routers read. It counts by the routers' clocks, which have to agree to within kClocksApart;
// an answer of a clock that does not is found by its id only.

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
  bool makes_collection = false;                 // if it is not there
  std::string consistency = {};                  // of get(): "Bounded", "Strong"; "": the server's
  std::chrono::milliseconds look_up_limit{100};  // of get()
  std::chrono::milliseconds write_limit{2000};   // of each exchange of the others

  bool operator==(const MilvusOptions&) const = default;
};

/// Connects when it is first asked. kInvalid for a collection that is no name, and
/// authorities that cannot be read.
Result<std::unique_ptr<Remote>> make_milvus_remote(MilvusOptions options);

}  // namespace signalbox::cache
