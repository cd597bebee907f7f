// Two lanes of queues by client.

#include "router/http/fair_queue.h"

#include <algorithm>
#include <utility>

namespace signalbox::http {

FairQueue::FairQueue(size_t threads, size_t waiting_max)
    : waiting_max_(waiting_max),
      long_max_(std::max<size_t>(1, threads / 2)),
      client_long_max_(std::max<size_t>(1, threads / 4)) {}

bool FairQueue::push(Work work, Share share) {
  if (waiting_ >= waiting_max_) return false;
  Lane& lane = share.is_long ? long_ : short_;
  const auto found = lane.work.find(share.client);
  const size_t of_client = found == lane.work.end() ? 0 : found->second.size();
  if (of_client > waiting_max_ - waiting_) return false;
  if (of_client == 0) lane.turns.push_back(share.client);
  lane.work[share.client].push_back(std::move(work));
  ++waiting_;
  return true;
}

std::optional<FairQueue::Taken> FairQueue::take() {
  if (long_running_ == 0) {
    if (auto taken = take_long()) return taken;
  }
  if (auto taken = take_short()) return taken;
  return take_long();
}

std::optional<FairQueue::Taken> FairQueue::take_short() {
  if (short_.turns.empty()) return std::nullopt;
  return take_of(short_, short_.turns.begin(), false);
}

std::optional<FairQueue::Taken> FairQueue::take_long() {
  if (long_running_ >= long_max_) return std::nullopt;
  const auto turn = std::find_if(long_.turns.begin(), long_.turns.end(),
                                 [this](uint64_t client) { return may_run(client); });
  if (turn == long_.turns.end()) return std::nullopt;
  Taken taken = take_of(long_, turn, true);
  ++long_running_;
  ++running_of_[taken.share.client];
  return taken;
}

bool FairQueue::may_run(uint64_t client) const {
  const auto found = running_of_.find(client);
  return found == running_of_.end() || found->second < client_long_max_;
}

FairQueue::Taken FairQueue::take_of(Lane& lane, std::deque<uint64_t>::iterator turn, bool is_long) {
  const uint64_t client = *turn;
  lane.turns.erase(turn);
  const auto queue = lane.work.find(client);
  Taken taken{std::move(queue->second.front()), {client, is_long}};
  queue->second.pop_front();
  if (queue->second.empty()) {
    lane.work.erase(queue);
  } else {
    lane.turns.push_back(client);
  }
  --waiting_;
  return taken;
}

void FairQueue::finish(Share share) {
  if (!share.is_long) return;
  --long_running_;
  const auto found = running_of_.find(share.client);
  if (--found->second == 0) running_of_.erase(found);
}

}  // namespace signalbox::http
