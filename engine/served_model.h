#pragma once
// A model behind a scheduler that is itself a model: callers wait as they would for the model, and
// what many of them ask at the same time runs in one pass.

#include <memory>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/scheduler.h"

namespace signalbox::engine {

/// The same model, with the same answers, for many threads. embed() and answer() of one text go
/// through the queue and fail with kOverloaded when it is full; of several texts they are a batch
/// already and run on the calling thread, as everything else does: that is for loading.
/// embed_within() and answer_within() bring every text to the queue, a few at a time, so that a
/// request of many leaves others their turn; they are overloaded only when the queue has no room
/// while none of their own is in it. Errors are Scheduler::create's.
Result<std::shared_ptr<const TextModel>> serve(std::shared_ptr<const TextModel> model,
                                               const SchedulerOptions& options);

/// What waits for a model that serve() has made; nothing for others. Thread-safe.
std::optional<SchedulerLoad> load_of(const TextEmbedder& model);

}  // namespace signalbox::engine
