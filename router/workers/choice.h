#pragma once
// The choice among several workers: one function per policy. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "router/workers/health.h"
#include "router/workers/prefix.h"

namespace signalbox::workers {

/// The request's properties that the choice depends on.
struct Affinity {
  // The prompt's (prefix_blocks); empty: the policy does not use them
  std::span<const uint64_t> blocks = {};
  std::string_view session = {};        // "": no session
  std::span<const uint64_t> ends = {};  // of the prompt's messages (prefix_ends); empty: the prompt
                                        // is short, or they are not used
};

/// The state of one worker.
struct Worker {
  Worker(std::string named, uint32_t weighs, size_t remembered_blocks)
      : name(std::move(named)),
        weight(weighs),
        identity(hash_of(name, 0)),
        cache(remembered_blocks) {}

  std::string name;
  uint32_t weight;             // > 0 for the candidates of a choice
  uint64_t identity;           // hash of the name: the same in every router
  uint32_t in_flight = 0;      // requests that we sent and that have not ended
  uint64_t active_blocks = 0;  // blocks of their prompts
  double others = 0;           // requests from other clients
  double waiting = 0;          // requests in the worker's own queue
  double cache_usage = 0;      // 0 to 1
  int64_t current = 0;         // used by choose_weighted
  Health health;
  PrefixCache cache;
  // Since the balancer was made.
  uint64_t answered = 0, failed = 0, ejections = 0;
};

/// The load: the requests at the worker plus one, where queued ones count twice, divided by its
/// weight. A full cache doubles it.
double load_of(const Worker& worker);

/// The candidates as worker indices; at least one.
using Among = std::span<const size_t>;

/// Takes turns by weight, as evenly as possible: the smooth weighted round robin of nginx (2012).
size_t choose_weighted(std::span<Worker> workers, Among among);
/// Chooses the least load; on a tie, the first one from `turn` on.
size_t choose_least(std::span<const Worker> workers, Among among, uint64_t turn);
/// Chooses the same worker for a session as long as that worker is available and carries at most
/// 5/4 of its share of the requests: consistent hashing with bounded loads (Mirrokni, Thorup,
/// Zadimoghaddam, 2016) over the order of weighted rendezvous hashing (Thaler, Ravishankar, 1998),
/// which needs no ring.
size_t choose_session(std::span<const Worker> workers, Among among, std::string_view session);
/// Chooses the worker that has seen the longest beginning of the prompt, and the least loaded one
/// on a tie. Only workers that carry at most 5/4 of their share of the requests are candidates.
/// Returns nullopt if no candidate has seen any of it.
std::optional<size_t> choose_shared(std::span<const Worker> workers, Among among,
                                    std::span<const uint64_t> ends);
/// Chooses the least cost: the prompt's blocks that the worker has not seen and the blocks that it
/// is working on, each with its weight (the cost of the NVIDIA Dynamo router). A request from
/// another client counts as `mean_blocks`. Ties go to the least load, then to the first one from
/// `turn` on.
size_t choose_prefix(std::span<const Worker> workers, Among among, std::span<const uint64_t> blocks,
                     double mean_blocks, const config::Reliability& settings, uint64_t turn);

}  // namespace signalbox::workers
