#pragma once
// The stores that are kept between requests and read while requests are planned.

#include "router/memories/memories.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::routing {

/// Both outlive the router.
struct Stores {
  memories::Memories* memories = nullptr;                  // null: nothing is remembered
  const vector_stores::VectorStores* documents = nullptr;  // null: there are none
};

}  // namespace signalbox::routing
