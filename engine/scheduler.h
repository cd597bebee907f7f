#pragma once
// Serves one model to many threads. Requests wait in a bounded queue, and workers run as many at a
// time as fit one pass through the network. Short texts are expensive when each pass reads all
// weights for one text; a batch reads them once. A request's result does not depend on its batch,
// bit for bit, because the engine's rows do not.
//
//   auto scheduler = engine::Scheduler::create(*model, {.workers = 2});
//   auto vector = (*scheduler)->embed("a text", {}).get();   // Result<std::vector<float>>
//
// A batch consists of the requests that wait when a worker becomes free. Workers never wait for
// more requests, so an idle scheduler adds only a thread wake-up.

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
  /// Concurrent batches, 1 to kThreadsMax. Use workers for many requests and OpenOptions::threads
  /// for long texts. Their product should be about the number of cores.
  int32_t workers = 1;
  /// Tokens per batch, at least 1; a longer request runs alone. TextModel divides more than 512
  /// into several passes.
  int32_t batch_tokens = 512;
  /// A lower limit for batches of long requests (Patience::is_long), at least 1. A short request
  /// waits until such a batch ends, and a window of 256 tokens takes as long alone as beside
  /// others.
  int32_t long_batch_tokens = 256;
  /// Limits for waiting requests, excluding running batches; all at least 1.
  int32_t requests_max = 1024;
  int64_t tokens_max = 65536;      // at least the model's own tokens_max
  int64_t bytes_max = 64LL << 20;  // bytes of text: a text can be much longer than its tokens
};

/// The current queue.
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

  /// Called exactly once for an accepted request, with its result, the model's error, kDeadline, or
  /// kCancelled (stopped, or the scheduler was destroyed). It runs without locks on a thread of the
  /// scheduler, or on a thread that submits requests or destroys the scheduler. It may submit
  /// requests. It must return soon, must not throw and must not destroy the scheduler.
  template <class T>
  using Done = std::function<void(Result<T>)>;

  /// `model` must outlive the scheduler. kInvalid with the option's name if it is out of range; kIo
  /// if no thread can be created.
  static Result<std::unique_ptr<Scheduler>> create(const TextModel& model,
                                                   const SchedulerOptions& options = {});
  /// Waiting requests fail with kCancelled and running batches finish. Afterwards every Done has
  /// returned.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;

  /// Queues a copy of one text. It is tokenised on the calling thread to determine its cost. If
  /// this returns an error, `done` is never called: kOverloaded with the queue's exhausted limit;
  /// kTooLarge if the text exceeds the queue's capacity; kDeadline or kCancelled if it is too late;
  /// kInvalid or kNotFound from TextModel::tokens().
  Result<void> embed(std::string_view text, const EmbedOptions& options, Patience patience,
                     Done<Embedding> done);
  /// Queues one input and returns every head's answer.
  Result<void> answer(const Input& input, Patience patience, Done<Answers> done);

  /// Variants that return a future, which holds errors of both kinds. The future may be discarded.
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
