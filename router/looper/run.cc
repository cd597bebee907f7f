// A bound that is reached stops new calls at once. Open calls may end, because they are paid for;
// only the bound on time gives them up.

#include "router/looper/run.h"

#include <algorithm>

namespace signalbox::looper {

namespace {

template <class T>
T either(T first, T second) {
  return first != T{} ? first : second;
}

std::chrono::milliseconds time_of(const config::LoopBudget& budget) {
  return either(budget.deadline, std::chrono::milliseconds(budget.max_seconds * 1000LL));
}

}  // namespace

Bounds bounds_of(const config::Algorithm& algorithm, const config::Looper& looper) {
  const config::LoopBudget &own = algorithm.budget, &all = looper.budget;
  Bounds out;
  out.calls = either(own.max_calls, all.max_calls);
  out.tokens = either(own.max_tokens, all.max_tokens);
  out.cost = either(own.max_cost, all.max_cost);
  out.time = either(time_of(own), time_of(all));
  out.concurrent = std::max(1U, looper.max_concurrent);
  return out;
}

Run::Run(std::unique_ptr<const Algorithm> algorithm, const Bounds& bounds,
         std::vector<PastTurn> past)
    : algorithm_(std::move(algorithm)), bounds_(bounds), past_(std::move(past)) {}

size_t Run::open() const {
  return static_cast<size_t>(std::count_if(turns_.begin(), turns_.end(), [](const Turn& turn) {
    return turn.state == Turn::State::kOpen;
  }));
}

void Run::check_bounds() {
  if (!used_up_.empty()) return;
  if (bounds_.calls > 0 && calls_ >= bounds_.calls) used_up_ = "calls";
  if (bounds_.tokens > 0 && tokens_ >= bounds_.tokens) used_up_ = "tokens";
  if (bounds_.cost > 0 && cost_ >= bounds_.cost) used_up_ = "cost";
}

bool Run::is_step_over(Milliseconds elapsed) const {
  return step_end_ && elapsed >= *step_end_;
}

void Run::drop(Turn& turn, Code code, std::string_view why) {
  turn.state = Turn::State::kDone;
  turn.outcome = tl::unexpected<Error>(Error{code, std::string(why)});
}

void Run::drop_all(std::string_view why, Code code, Orders& orders) {
  for (size_t i = 0; i < turns_.size(); ++i) {
    Turn& turn = turns_[i];
    if (turn.is_done()) continue;
    if (std::erase(orders.start, i) > 0) {
      --calls_;  // the gateway never sees it
    } else if (turn.state == Turn::State::kOpen) {
      orders.cancel.push_back(i);
    }
    drop(turn, code, why);
  }
}

// Returns true if a bound forbids queued calls, which are then dropped.
bool Run::start_queued(Orders& orders) {
  const uint32_t own = algorithm_->concurrent_max();
  const size_t most = own > 0 ? std::min(own, bounds_.concurrent) : bounds_.concurrent;
  size_t running = open();
  bool has_dropped = false;
  for (size_t i = step_begin_; i < turns_.size(); ++i) {
    Turn& turn = turns_[i];
    if (turn.state != Turn::State::kQueued) continue;
    if (running >= most) break;
    check_bounds();
    if (!used_up_.empty()) {
      drop(turn, Code::kCancelled, "the budget of the request is used up");
      has_dropped = true;
      continue;
    }
    turn.state = Turn::State::kOpen;
    ++calls_;
    ++running;
    orders.start.push_back(i);
  }
  return has_dropped;
}

void Run::add_turn(Call call) {
  const size_t index = turns_.size();
  if (index >= past_.size() || has_diverged_) {
    turns_.push_back({.call = std::move(call)});
    return;
  }
  const PastTurn& past = past_[index];
  const bool is_same = past.model == call.model && past.label == call.label;
  Result<Turn> turn = repeat_turn(call, past);
  has_diverged_ = !is_same || !turn;
  turns_.push_back(has_diverged_ ? Turn{.call = std::move(call)} : *std::move(turn));
}

// Returns true if a turn of the step is done already.
bool Run::add_step(Step step, Milliseconds elapsed, Orders& orders) {
  if (!step.joins) {
    drop_all("another step began without it", Code::kCancelled, orders);
    step_begin_ = turns_.size();
  }
  const size_t begin = turns_.size();
  for (Call& call : step.calls) add_turn(std::move(call));
  step_end_.reset();
  if (step.limit.count() > 0) step_end_ = elapsed + step.limit;
  return std::any_of(turns_.begin() + static_cast<std::ptrdiff_t>(begin), turns_.end(),
                     [](const Turn& turn) { return turn.is_done(); });
}

Run::Orders Run::advance(Milliseconds elapsed) {
  Orders orders;
  if (bounds_.time.count() > 0 && elapsed >= bounds_.time) used_up_ = "time";
  if (used_up_ == "time") drop_all("the time of the request is over", Code::kDeadline, orders);
  if (is_step_over(elapsed)) {
    drop_all("it did not answer within the time of its round", Code::kDeadline, orders);
    step_end_.reset();
  }
  // The algorithm looks first: a call that was queued may not be needed any more.
  while (!answer_) {
    const bool may_call = used_up_.empty();
    Step step = algorithm_->next(turns_, may_call);
    if (step.answer) {
      answer_ = std::move(step.answer);
      break;
    }
    bool has_done = false;
    if (!step.calls.empty() && may_call) {
      check_bounds();
      if (!used_up_.empty()) continue;
      has_done = add_step(std::move(step), elapsed, orders);
    }
    if (start_queued(orders) || has_done) continue;
    if (open() > 0) return orders;
    answer_ = Result<RunAnswer>(fail(Code::kInternal, "the algorithm comes to no end"));
  }
  drop_all("the answer came without it", Code::kCancelled, orders);
  return orders;
}

void Run::take(size_t index, Result<Reply> outcome, bool elsewhere) {
  Turn& turn = turns_[index];
  if (outcome) {
    tokens_ += outcome->prompt_tokens + outcome->completion_tokens;
    cost_ += outcome->cost;
  }
  if (turn.state != Turn::State::kOpen) return;
  turn.state = Turn::State::kDone;
  turn.outcome = std::move(outcome);
  turn.elsewhere = elsewhere;
}

std::optional<Extension> Run::extension() const {
  const auto open =
      std::find_if(turns_.begin(), turns_.end(), [](const Turn& turn) { return !turn.is_done(); });
  return algorithm_->extension({turns_.begin(), open});
}

std::optional<Run::Milliseconds> Run::wake() const {
  std::optional<Milliseconds> out = step_end_;
  if (bounds_.time.count() > 0) out = out ? std::min(*out, bounds_.time) : bounds_.time;
  return out;
}

}  // namespace signalbox::looper
