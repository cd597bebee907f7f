#pragma once
// One model, many threads that ask: requests wait in a bounded queue, and workers take as many of
// them at a time as one pass through the network is worth. Texts of a few tokens cost most when
// each reads all weights alone; together they read them once. What a request gets does not depend
// on what it ran with, to the last bit, because the engine's rows do not.
//
//   auto scheduler = engine::Scheduler::create(*model, {.workers = 2});
//   auto vector = (*scheduler)->embed("a text", {}).get();   // Result<std::vector<float>>
//
// A batch is formed of what waits when a worker is free, never by waiting for more: an idle
// scheduler adds a wake-up and nothing else.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/patience.h"

namespace signalbox::engine {

struct SchedulerOptions {
  /// Batches that run at the same time, 1 to kThreadsMax. Workers pay when requests are many,
  /// OpenOptions::threads when texts are long; their product is best about the number of cores.
  int32_t workers = 1;
  /// Tokens of one batch, 1 or more; a longer request runs alone. TextModel cuts what is above 512
  /// into several passes.
  int32_t batch_tokens = 512;
  /// What may wait, running batches not counted; all three 1 or more.
  int32_t requests_max = 1024;
  int64_t tokens_max = 65536;      // at least the model's own tokens_max
  int64_t bytes_max = 64LL << 20;  // of text: a text may be far longer than its tokens
};

/// What waits at one moment.
struct SchedulerLoad {
  int32_t requests = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  bool operator==(const SchedulerLoad&) const = default;
};

/// Thread-safe.
class Scheduler {
 public:
  using Embedding = std::vector<float>;  // (options.dim)
  using Answers = std::vector<Answer>;   // (heads)

  /// Receives what became of an accepted request, exactly once: its result, the model's error,
  /// kDeadline, or kCancelled (stopped, or the scheduler was destroyed). Called on a thread of the
  /// scheduler's, or one that submits or destroys it, with no lock held; it may submit, returns
  /// soon, throws nothing, and does not destroy the scheduler.
  template <class T>
  using Done = std::function<void(Result<T>)>;

  /// `model` outlives the scheduler. kInvalid, with the option's name, for one out of range;
  /// kIo when the system gives no more threads.
  static Result<std::unique_ptr<Scheduler>> create(const TextModel& model,
                                                   const SchedulerOptions& options = {});
  /// What waits is failed with kCancelled, batches that run are finished; then every Done has
  /// returned.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  /// Queue one text, which is copied. It is tokenised on the calling thread, to know what it costs.
  /// An error is told at once, and `done` is then never called: kOverloaded names the limit that
  /// the queue has reached; kTooLarge: more bytes than the queue could ever hold; kDeadline and
  /// kCancelled when it is too late already; kInvalid or kNotFound as TextModel::tokens().
  Result<void> embed(std::string_view text, const EmbedOptions& options, Patience patience,
                     Done<Embedding> done);
  /// The same for every head's answer.
  Result<void> answer(const Input& input, Patience patience, Done<Answers> done);

  /// The same with a future, which holds errors of either kind. It may be thrown away.
  std::future<Result<Embedding>> embed(std::string_view text, const EmbedOptions& options,
                                       Patience patience = {});
  std::future<Result<Answers>> answer(const Input& input, Patience patience = {});

  SchedulerLoad load() const;

 private:
  class State;
  explicit Scheduler(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox::engine
