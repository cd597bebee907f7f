// Explores every order in which the shares of a few requests raise, wait for room, get it, give
// back, give up, and end with their loop. The oldest gets on, nobody waits beside room that is
// theirs, no younger large share passes an older one, and nobody waits for each other for ever. The
// bound and the shares are the real ones; each share has a loop of its own, which runs only when
// the order of events wants it to.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <optional>

#include "router/http/memory_share.h"
#include "tests/router/explore.h"

namespace signalbox::http {
namespace {

using signalbox::test::Event;

constexpr uint64_t kUnit = 1 << 20;  // far more than a small share
constexpr uint64_t kMost = 4 * kUnit + kUnit / 2;
constexpr uint64_t kMostOfLarge = kMost - kMost / kReserved;  // four units fit

/// The shares of a test: each has the number of the request that it belongs to.
struct Shape {
  std::vector<size_t> requests;
  std::vector<uint64_t> sizes;  // that a share may be raised to
  size_t raises;                // at most so many
};

/// One share with the coroutine that waits for it.
struct Slot {
  MemoryShare share;
  uint64_t wanted = 0;  // 0: it does not wait
  size_t began = 0;     // the number of its raise
  bool gives_up = false;
  std::optional<Raise> outcome;  // of the last raise
  std::shared_ptr<Timer> timer;
  std::unique_ptr<asio::io_context> loop = std::make_unique<asio::io_context>();
};

/// An event of a share. Bytes are those of a raise or what it lowers to.
struct Step {
  enum class What : uint8_t { kRaise, kLower, kGiveUp, kRun, kEnd } what;
  size_t slot;
  uint64_t bytes = 0;
};

/// The system itself, which cannot be copied.
class World {
 public:
  explicit World(const Shape& shape) : shape_(&shape), raises_(shape.raises) {
    slots_.reserve(shape.requests.size());
    for (size_t i = 0; i < shape.requests.size(); ++i) {
      const size_t first = first_of(shape.requests[i]);
      Slot& slot = slots_.emplace_back();
      slot.share = first == i ? MemoryShare(bound_) : slots_[first].share.beside();
    }
  }

  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    bound_.close();
    for (Slot& slot : slots_) end(slot);
  }

  void take(const Step& step) {
    Slot& slot = slots_[step.slot];
    switch (step.what) {
      case Step::What::kRaise:
        raise(step.slot, step.bytes);
        break;
      case Step::What::kLower:
        slot.share.lower(step.bytes);
        break;
      case Step::What::kGiveUp:
        slot.gives_up = true;
        wake(*slot.timer);
        break;
      case Step::What::kRun:
        run(slot);
        break;
      case Step::What::kEnd:
        end(slot);
        slot.wanted = 0;
        slot.share.lower(0);
        break;
    }
    run_refused();
    forget_ended();
  }

  std::vector<Step> steps() const {
    std::vector<Step> out;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      if (slot.loop == nullptr) continue;
      if (slot.wanted > 0) {
        if (!slot.gives_up) out.push_back({Step::What::kGiveUp, i});
        out.push_back({Step::What::kRun, i});
        out.push_back({Step::What::kEnd, i});
        continue;
      }
      for (const uint64_t bytes : shape_->sizes) {
        if (bytes > slot.share.bytes() && raises_ > 0)
          out.push_back({Step::What::kRaise, i, bytes});
        if (bytes < slot.share.bytes()) out.push_back({Step::What::kLower, i, bytes});
      }
      if (slot.share.bytes() > 0) out.push_back({Step::What::kLower, i, 0});
    }
    return out;
  }

  std::string key() const {
    std::string out = fmt::format("{} {} {}|", raises_, bound_.waiting(), fault_);
    for (const size_t request : order_) out += fmt::format("{} ", request);
    for (const Slot& slot : slots_) {
      const bool waits = slot.wanted > 0;
      const auto is_earlier = [&slot](const Slot& other) {
        return other.wanted > 0 && other.began > slot.began;
      };
      // The last outcome is there because a share that holds nothing must have forgotten its place.
      out +=
          fmt::format("|{} {} {} {} {} {}", slot.share.bytes(), slot.wanted, waits && slot.gives_up,
                      slot.loop == nullptr, slot.outcome ? static_cast<int>(*slot.outcome) : -1,
                      waits ? std::count_if(slots_.begin(), slots_.end(), is_earlier) : 0);
    }
    return out;
  }

  // These statements must always hold.
  std::string fault() const {
    if (!fault_.empty()) return fault_;
    if (bound_.held() != held()) return "the bound and its shares differ";
    if (held() > kMost) return "the bound is exceeded";
    uint64_t large = 0;
    for (const Slot& slot : slots_) {
      if (slot.share.bytes() > kSmallShare) large += slot.share.bytes();
    }
    return large > kMostOfLarge ? "large shares use the room of small ones" : "";
  }

  // These must hold when everybody who was woken has run.
  std::string settled_fault() {
    for (size_t i = 0; i < slots_.size(); ++i) {  // each one may let another one run
      for (Slot& slot : slots_) run(slot);
    }
    forget_ended();
    if (std::string out = fault(); !out.empty()) return out;
    const Slot* first = nullptr;
    bool is_anybody_running = false;
    for (const size_t request : order_) {
      const Slot* waits = nullptr;
      for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        if (shape_->requests[i] != request || slot.wanted == 0) continue;
        if (slot.wanted <= kSmallShare && has_room(slot)) return "a small share waits beside room";
        if (waits == nullptr || !has_room(slot)) waits = &slot;  // any of them may be the first
      }
      if (waits == nullptr) is_anybody_running = true;
      if (first == nullptr) first = waits;
    }
    if (first == nullptr) return "";
    if (has_room(*first)) return "the oldest waits beside room";
    return is_anybody_running ? "" : "all wait for each other";
  }

 private:
  size_t first_of(size_t request) const {
    const auto& all = shape_->requests;
    return static_cast<size_t>(std::find(all.begin(), all.end(), request) - all.begin());
  }
  uint64_t held() const {
    uint64_t out = 0;
    for (const Slot& slot : slots_) out += slot.share.bytes();
    return out;
  }
  uint64_t held_beside(size_t of) const {
    uint64_t out = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (i != of && shape_->requests[i] == shape_->requests[of]) out += slots_[i].share.bytes();
    }
    return out;
  }
  static uint64_t most_of(uint64_t bytes) { return bytes <= kSmallShare ? kMost : kMostOfLarge; }
  bool has_room(const Slot& slot) const {
    return held() + slot.wanted - slot.share.bytes() <= most_of(slot.wanted);
  }
  bool may_fit(size_t i) const {
    return held_beside(i) + slots_[i].wanted <= most_of(slots_[i].wanted);
  }
  size_t rank_of(size_t i) const {
    const auto at = std::find(order_.begin(), order_.end(), shape_->requests[i]);
    return static_cast<size_t>(at - order_.begin());
  }
  bool waits_before(size_t i) const {
    for (size_t other = 0; other < slots_.size(); ++other) {
      const Slot& slot = slots_[other];
      const bool waits = slot.wanted > slot.share.bytes();
      if (waits && !slot.gives_up && rank_of(other) < rank_of(i)) return true;
    }
    return false;
  }

  static void end(Slot& slot) {
    slot.timer = nullptr;
    slot.loop = nullptr;
  }

  void raise(size_t i, uint64_t bytes) {
    Slot& slot = slots_[i];
    --raises_;
    if (rank_of(i) == order_.size()) order_.push_back(shape_->requests[i]);
    slot.wanted = bytes;
    slot.began = raises_;
    slot.gives_up = false;
    slot.outcome.reset();
    slot.timer = std::make_shared<Timer>(slot.loop->get_executor(), Clock::time_point::max());
    auto wait = [](Slot& of) -> Task<> {
      std::shared_ptr<Timer> timer = of.timer;
      of.outcome = co_await of.share.wait(of.wanted, std::move(timer), of.gives_up);
    };
    asio::co_spawn(*slot.loop, wait(slot), asio::detached);
    const bool is_behind = bytes > kSmallShare && waits_before(i);
    run(slot);
    if (is_behind && slot.outcome == Raise::kDone) fault_ = "a younger share passes an older one";
  }

  void run(Slot& slot) {
    if (slot.loop == nullptr || slot.wanted == 0) return;
    slot.loop->restart();
    slot.loop->poll();
    if (!slot.outcome) return;
    const auto i = static_cast<size_t>(&slot - slots_.data());
    const bool has_bytes = slot.share.bytes() == slot.wanted;
    if ((*slot.outcome == Raise::kDone) != has_bytes) fault_ = "the outcome of a wait is wrong";
    if (*slot.outcome == Raise::kNever && may_fit(i)) fault_ = "what fits is refused for ever";
    slot.wanted = 0;
    if (*slot.outcome != Raise::kDone) slot.share.lower(0);
  }

  // A share that is refused ends at once, so that the last refusal is known.
  void run_refused() {
    std::vector<bool> must_get_on;
    for (size_t i = 0; i < slots_.size(); ++i) must_get_on.push_back(rank_of(i) == 0 && may_fit(i));
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (slot.wanted == 0 || slot.wanted == slot.share.bytes() || slot.gives_up) continue;
      run(slot);
      if (slot.wanted == 0 && must_get_on[i]) fault_ = "the oldest is refused";
    }
  }

  // A request that holds nothing and does not wait begins anew.
  void forget_ended() {
    std::erase_if(order_, [this](size_t request) {
      for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        if (shape_->requests[i] == request && (slot.wanted > 0 || slot.share.bytes() > 0))
          return false;
      }
      return true;
    });
  }

  const Shape* shape_;
  size_t raises_;
  const uint64_t most_ = kMost;
  MemoryBound bound_{most_};
  std::vector<Slot> slots_;
  std::vector<size_t> order_;  // of requests, by their arrival
  std::string fault_;
};

/// A world that is copied by taking its steps again.
class System {
 public:
  explicit System(const Shape& shape) : shape_(&shape), world_(std::make_unique<World>(shape)) {}
  System(const System& other)
      : shape_(other.shape_), steps_(other.steps_), world_(std::make_unique<World>(*shape_)) {
    for (const Step& step : steps_) world_->take(step);
  }
  System& operator=(const System&) = delete;

  std::string key() const { return world_->key(); }
  std::string fault() const {
    std::string out = world_->fault();
    return out.empty() ? System(*this).world_->settled_fault() : out;
  }
  std::vector<Event<System>> events() const {
    constexpr std::array<std::string_view, 5> kNames{"wants", "lowers to", "gives up", "runs",
                                                     "ends"};
    std::vector<Event<System>> out;
    for (const Step& step : world_->steps()) {
      out.push_back({fmt::format("share {} {} {}", step.slot,
                                 kNames[static_cast<size_t>(step.what)], step.bytes),
                     [step](System& of) {
                       of.steps_.push_back(step);
                       of.world_->take(step);
                     }});
    }
    return out;
  }

 private:
  const Shape* shape_;
  std::vector<Step> steps_;
  std::unique_ptr<World> world_;
};

TEST(MemoryOrders, the_oldest_of_three_requests_gets_on) {
  const Shape shape{{0, 1, 2}, {1 * kUnit, 3 * kUnit}, 5};
  EXPECT_GT(signalbox::test::explore_all("three requests", System(shape)), 6900U);
}

TEST(MemoryOrders, small_shares_do_not_wait_behind_large_ones) {
  const Shape shape{{0, 1, 2}, {kSmallShare, kMostOfLarge}, 4};
  EXPECT_GT(signalbox::test::explore_all("small and large", System(shape)), 2500U);
}

TEST(MemoryOrders, the_shares_of_one_request_do_not_stop_each_other) {
  const Shape shape{{0, 0, 1}, {1 * kUnit, 3 * kUnit}, 4};
  EXPECT_GT(signalbox::test::explore_all("two shares of one request", System(shape)), 2600U);
}

}  // namespace
}  // namespace signalbox::http
