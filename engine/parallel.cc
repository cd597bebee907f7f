// A oneTBB arena limits the threads; its slot numbers are passed to step().

#include "engine/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <thread>
#include <vector>

namespace signalbox::engine {

struct Workers::Impl {
  explicit Impl(int32_t threads) : arena(threads) {}
  tbb::task_arena arena;
};

Workers::Workers(int32_t threads) : threads_(threads) {
  if (threads > 1) impl_ = std::make_unique<Impl>(threads);
}

Workers::~Workers() = default;

void Workers::for_each(int32_t count, const std::function<void(int32_t i, int32_t slot)>& step) {
  if (impl_ == nullptr || count == 1) {
    for (int32_t i = 0; i < count; ++i) step(i, 0);
    return;
  }
  impl_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int32_t>(0, count, 1),
        [&](const tbb::blocked_range<int32_t>& range) {
          const int32_t slot = tbb::this_task_arena::current_thread_index();
          for (int32_t i = range.begin(); i < range.end(); ++i) step(i, slot);
        },
        tbb::simple_partitioner());
  });
}

void run_together(std::span<const std::function<void()>> steps) {
  if (steps.empty()) return;
#ifdef SIGNALBOX_THREAD_SANITIZER
  // The thread sanitizer does not understand how oneTBB passes tasks between threads. Plain threads
  // let it check the data that the steps share.
  std::vector<std::jthread> others;
  for (const auto& step : steps.subspan(1)) others.emplace_back(step);
  steps[0]();
#else
  tbb::task_group others;
  for (const auto& step : steps.subspan(1)) others.run([&step] { step(); });
  steps[0]();
  others.wait();
#endif
}

}  // namespace signalbox::engine
