#pragma once
// Which of several workers answers: one function a policy, over what is known of each. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "router/workers/health.h"
#include "router/workers/prefix.h"

namespace signalbox::workers {

/// What the choice depends on besides the workers.
struct Ask {
  std::span<const uint64_t> blocks =
      {};                         // of the prompt (prefix_blocks); empty: they do not matter
  std::string_view session = {};  // "": it belongs to none
  std::span<const uint64_t> ends =
      {};  // of the prompt's messages (prefix_ends); empty: it is short, or they do not matter
};

/// What is known of one worker.
struct Worker {
  Worker(std::string named, uint32_t weighs, size_t remembered_blocks)
      : name(std::move(named)),
        weight(weighs),
        identity(hash_of(name, 0)),
        cache(remembered_blocks) {}

  std::string name;
  uint32_t weight;             // > 0 for those that are chosen among
  uint64_t identity;           // of the name: the same in every router
  uint32_t in_flight = 0;      // requests that we have there
  uint64_t active_blocks = 0;  // of their prompts
  double others = 0;           // requests that others have there
  double waiting = 0;          // requests in its own queue
  double cache_usage = 0;      // 0 to 1
  int64_t current = 0;         // of choose_weighted
  Health health;
  PrefixCache cache;
};

/// The requests there and one more, those in its queue twice, in proportion to its weight, and up
/// to twice that as its cache fills up.
double load_of(const Worker& worker);

/// Workers by index; at least one.
using Among = std::span<const size_t>;

/// In turn by weight, as evenly as can be: the smooth weighted round robin of nginx (2012).
size_t choose_weighted(std::span<Worker> workers, Among among);
/// The least load; of equals the first from `turn` on.
size_t choose_least(std::span<const Worker> workers, Among among, uint64_t turn);
/// The same for one session as long as it is there and bears no more than 5/4 of its share of the
/// requests: consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2016) over the
/// order of weighted rendezvous hashing (Thaler, Ravishankar, 1998), which needs no ring.
size_t choose_session(std::span<const Worker> workers, Among among, std::string_view session);
/// Whoever has had the most of the prompt's beginning, of equals the least loaded, among those that
/// bear no more than 5/4 of their share of the requests; nothing where nobody has had any of it.
std::optional<size_t> choose_shared(std::span<const Worker> workers, Among among,
                                    std::span<const uint64_t> ends);
/// The least cost: the prompt's blocks that it has not seen, and those that it works on, each with
/// its weight (the cost of the NVIDIA Dynamo router). A request of others counts for `mean_blocks`.
/// Of equals the least load, then the first from `turn` on.
size_t choose_prefix(std::span<const Worker> workers, Among among, std::span<const uint64_t> blocks,
                     double mean_blocks, const config::Reliability& settings, uint64_t turn);

}  // namespace signalbox::workers
