#pragma once
// How many threads a pass may have in tests: several, but under the thread sanitizer, which does
// not see how oneTBB, not compiled with it, keeps its own order.

#include <cstdint>

namespace signalbox::engine {

#if defined(__SANITIZE_THREAD__)
inline constexpr int32_t kPassThreads = 1;
#else
inline constexpr int32_t kPassThreads = 2;
#endif

}  // namespace signalbox::engine
