#pragma once
// One request's run of an algorithm: which calls are open, what they have cost, and the end. Pure:
// times come in as parameters, and the gateway makes the calls.

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "router/config/services.h"
#include "router/looper/flow.h"

namespace signalbox::looper {

/// The bounds of a run. 0: none.
struct Bounds {
  uint32_t calls = 0;
  uint64_t tokens = 0;  // of prompts and replies together
  double cost = 0;
  std::chrono::milliseconds time{0};
  uint32_t concurrent = 16;  // at least 1
};

/// The bounds that the decision sets, and for the others those of the configuration.
Bounds bounds_of(const config::Algorithm& algorithm, const config::Looper& looper);

class Run {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// `past` holds the turns that earlier requests made; they come first.
  Run(std::unique_ptr<const Algorithm> algorithm, const Bounds& bounds,
      std::vector<PastTurn> past = {});

  /// The turns, by index, whose calls the gateway starts and cancels next.
  struct Orders {
    std::vector<size_t> start, cancel;
  };
  /// Moves on to the next wait or to the end. `elapsed` is the time since the run began. Call it at
  /// the beginning, after take(), and when wake() has passed.
  Orders advance(Milliseconds elapsed);
  /// The outcome of a call that was started. One that was given up meanwhile is ignored, except for
  /// what it has cost. `elsewhere` is that of the turn.
  void take(size_t turn, Result<Reply> outcome, bool elsewhere = true);
  /// Counts requests that a call has repeated, because servers failed.
  void repeated(uint32_t times) { calls_ += times; }
  /// Ends the run with the replies so far, because the request's time is over.
  void expire() { used_up_ = "time"; }

  /// When advance() must be called if nothing arrives; nullopt: never.
  std::optional<Milliseconds> wake() const;

  /// True if the algorithm has wanted other calls than the past ones, because the decision has
  /// changed meanwhile. Call it after advance().
  bool has_diverged() const { return has_diverged_ || turns_.size() < past_.size(); }

  /// The end; nullopt before it.
  const std::optional<Result<RunAnswer>>& answer() const { return answer_; }
  std::span<const Turn> turns() const { return turns_; }
  /// The bound that ended the run early: "calls", "tokens", "cost", "time"; "": none.
  std::string_view used_up() const { return used_up_; }
  /// The member of the answer with the calls that are done.
  std::optional<Extension> extension() const;
  uint32_t calls() const { return calls_; }  // that were started
  uint64_t tokens() const { return tokens_; }
  double cost() const { return cost_; }

 private:
  void check_bounds();
  bool is_step_over(Milliseconds elapsed) const;
  void drop(Turn& turn, Code code, std::string_view why);
  void drop_all(std::string_view why, Code code, Orders& orders);
  bool start_queued(Orders& orders);
  bool add_step(Step step, Milliseconds elapsed, Orders& orders);
  void add_turn(Call call);
  size_t open() const;

  const std::unique_ptr<const Algorithm> algorithm_;
  const Bounds bounds_;
  const std::vector<PastTurn> past_;
  bool has_diverged_ = false;
  std::vector<Turn> turns_;
  size_t step_begin_ = 0;  // the first turn of the latest step
  std::optional<Milliseconds> step_end_;
  std::optional<Result<RunAnswer>> answer_;
  std::string_view used_up_;
  uint32_t calls_ = 0;
  uint64_t tokens_ = 0;
  double cost_ = 0;
};

}  // namespace signalbox::looper
