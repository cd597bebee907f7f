// Every function walks over the workers of one model, because a model has only a few.

#include "router/workers/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace signalbox::workers {
namespace {

/// A worker may carry this multiple of its fair share before a session moves to another one.
constexpr double kBound = 1.25;

/// Shares out all current requests and one more by weight.
class Shares {
 public:
  Shares(std::span<const Worker> workers, Among among) {
    for (const size_t at : among) {
      weights_ += workers[at].weight;
      requests_ += workers[at].in_flight + workers[at].others;
    }
  }
  bool bears_one_more(const Worker& worker) const {
    const double bound = std::ceil(kBound * requests_ * worker.weight / weights_);
    return worker.in_flight + worker.others + 1 <= bound;
  }

 private:
  double weights_ = 0, requests_ = 1;
};

/// Maps a hash to a uniform number in (0, 1).
double uniform(uint64_t hash) {
  return (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
}

/// Returns the worker with the least `cost`; on a tie, the first one from `turn` on.
template <class Cost>
size_t least(Among among, uint64_t turn, const Cost& cost) {
  size_t best = among[turn % among.size()];
  auto best_cost = cost(best);
  for (size_t i = 1; i < among.size(); ++i) {
    const size_t at = among[(turn + i) % among.size()];
    const auto its = cost(at);
    if (its < best_cost) {
      best = at;
      best_cost = its;
    }
  }
  return best;
}

}  // namespace

double load_of(const Worker& worker) {
  const double requests = worker.in_flight + worker.others + worker.waiting + 1;
  return requests * (1 + worker.cache_usage) / worker.weight;
}

size_t choose_weighted(std::span<Worker> workers, Among among) {
  int64_t sum = 0;
  size_t best = among.front();
  for (const size_t at : among) {
    sum += workers[at].weight;
    workers[at].current += workers[at].weight;
    if (workers[at].current > workers[best].current) best = at;
  }
  workers[best].current -= sum;
  return best;
}

size_t choose_least(std::span<const Worker> workers, Among among, uint64_t turn) {
  return least(among, turn, [&](size_t at) { return load_of(workers[at]); });
}

size_t choose_session(std::span<const Worker> workers, Among among, std::string_view session) {
  struct Scored {
    double score;
    size_t at;
  };
  std::vector<Scored> order;
  order.reserve(among.size());
  for (const size_t at : among) {
    const Worker& worker = workers[at];
    order.push_back({-worker.weight / std::log(uniform(hash_of(session, worker.identity))), at});
  }
  std::sort(order.begin(), order.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  const Shares shares(workers, among);
  for (const Scored& each : order) {
    if (shares.bears_one_more(workers[each.at])) return each.at;
  }
  return order.front().at;
}

std::optional<size_t> choose_shared(std::span<const Worker> workers, Among among,
                                    std::span<const uint64_t> ends) {
  const Shares shares(workers, among);
  std::optional<size_t> best;
  size_t best_known = 0;
  for (const size_t at : among) {
    const Worker& worker = workers[at];
    const size_t known = worker.cache.known(ends);
    if (known == 0 || known < best_known || !shares.bears_one_more(worker)) continue;
    if (known == best_known && load_of(worker) >= load_of(workers[*best])) continue;
    best = at;
    best_known = known;
  }
  return best;
}

size_t choose_prefix(std::span<const Worker> workers, Among among, std::span<const uint64_t> blocks,
                     double mean_blocks, const config::Reliability& settings, uint64_t turn) {
  struct Cost {
    double blocks, load;
    bool operator<(const Cost& other) const {
      return blocks != other.blocks ? blocks < other.blocks : load < other.load;
    }
  };
  return least(among, turn, [&](size_t at) {
    const Worker& worker = workers[at];
    const auto prefill = static_cast<double>(blocks.size() - worker.cache.known(blocks));
    const double active = static_cast<double>(worker.active_blocks) + worker.others * mean_blocks;
    return Cost{settings.prefill_weight * prefill + settings.active_weight * active,
                load_of(worker)};
  });
}

}  // namespace signalbox::workers
