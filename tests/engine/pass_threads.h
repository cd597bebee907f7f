#pragma once
// The number of threads per pass in tests: several, except under the thread sanitizer. oneTBB is
// not compiled with it, so the sanitizer cannot see its synchronisation.

#include <cstdint>

namespace signalbox::engine {

#ifdef SIGNALBOX_THREAD_SANITIZER
inline constexpr int32_t kPassThreads = 1;
#else
inline constexpr int32_t kPassThreads = 2;
#endif

}  // namespace signalbox::engine
