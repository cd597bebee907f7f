#pragma once
// Wraps a model and its scheduler as a model: callers wait for results as usual, and concurrent
// requests run together in one pass.

#include <memory>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/scheduler.h"

namespace signalbox::engine {

/// Returns a model with the same results for use by many threads. embed() and answer() of one text
/// go through the queue and fail with kOverloaded if it is full. Calls with several texts form a
/// batch already; they and all other functions run on the calling thread and are meant for loading.
/// embed_within() and answer_within() submit every text to the queue, a few at a time, so that a
/// large request does not block others. They fail with kOverloaded only if the queue is full while
/// it contains none of their own texts. Errors: see Scheduler::create().
Result<std::shared_ptr<const TextModel>> serve(std::shared_ptr<const TextModel> model,
                                               const SchedulerOptions& options);

/// Returns the queue of a model created by serve(), or nullopt for others. Thread-safe.
std::optional<SchedulerLoad> load_of(const TextEmbedder& model);

}  // namespace signalbox::engine
