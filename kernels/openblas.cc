// The adapter to OpenBLAS. It uses the variant with threads and keeps it from starting any.
// Debian's variant without threads was tried: calls from several threads now and then gave wrong
// sums, because it hands out its working memory without a lock.

#include "kernels/openblas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <string_view>
#include <vector>

#include "kernels/body/panel.h"
#if defined(__x86_64__)
#include "kernels/x86/clear_upper.h"
#endif

namespace signalbox::kernels {
namespace {

using body::kPanelColumns;
using Sgemm = decltype(&cblas_sgemm);

// One call multiplies at most this many columns of x. With more, OpenBLAS 0.3.21 packs both factors
// on AVX-512, which takes 1.6 times as long at 16 rows and 1,152 columns.
constexpr int64_t kDepth = 384;

// At most this many products run at the same time. OpenBLAS itself has a limit, at which it ends
// the process.
constexpr int64_t kTurnsMax = 64;

// Twice the address space that OpenBLAS maps for one product. Little of it takes memory.
constexpr size_t kProbeBytes = size_t{256} << 20;

// Written before load_openblas() returns for the first time.
Sgemm sgemm = nullptr;

// Products that may begin now.
std::atomic<int> turns = 0;

// Several kernels of OpenBLAS leave values in the upper halves of the registers, which slow down
// code for SSE: with those for Sandy Bridge, the base tier took four times as long.
void clear_upper() {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx");
  if (has_avx) x86::clear_upper();
#endif
}

// Returns true if OpenBLAS will start no threads when the calling thread loads it. It starts one
// for every further processor on which that thread may run, so this thread keeps one.
bool keeps_one_processor() {
  const char* threads = std::getenv("OPENBLAS_NUM_THREADS");
  if (threads != nullptr && threads == std::string_view("1")) return true;
  cpu_set_t one;
  CPU_ZERO(&one);
  const int here = ::sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return false;
  CPU_SET(here, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

int call(void* library, const char* function) {
  const auto address = reinterpret_cast<int (*)()>(::dlsym(library, function));
  return address == nullptr ? -1 : address();
}

// Returns the handle of a library that several threads may call and that has no threads.
Result<void*> open_library(const char* name) {
  constexpr int kThreads = 1;  // openblas_get_parallel(): neither without threads nor OpenMP
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(Code::kUnsupported, "OpenBLAS: {}", ::dlerror());
  if (call(library, "openblas_get_parallel") == kThreads &&
      call(library, "openblas_get_num_threads") == 1) {
    return library;
  }
  ::dlclose(library);
  return fail(
      Code::kUnsupported,
      "OpenBLAS: {} is not the variant for POSIX threads (Debian: libopenblas0-pthread), or "
      "the process loaded it before with threads (OPENBLAS_NUM_THREADS=1 prevents them)",
      name);
}

// Returns true if a row has the same result in every place, for inner sizes of small and large
// models. Rows of a block are equal, so their sums must be, too.
bool rows_agree() {
  const OpenBlasTurn turn;
  for (const int64_t in : {7, 100, 384, 768, 1000}) {
    std::vector<float> x(kOpenBlasRows * in), panel(in * kPanelColumns),
        sums(kOpenBlasRows * kPanelColumns);
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t r = 0; r < kOpenBlasRows; ++r)
        x[r * in + i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    }
    for (int64_t i = 0; i < in * kPanelColumns; ++i)
      panel[i] = static_cast<float>(i * 104729 % 2003) / 2003 - 0.5f;
    openblas_block(kOpenBlasRows, in, x.data(), panel.data(), sums.data());
    for (int64_t r = 1; r < kOpenBlasRows; ++r) {
      if (std::memcmp(&sums[r * kPanelColumns], sums.data(), kPanelColumns * sizeof(float)) != 0)
        return false;
    }
  }
  return true;
}

bool can_map(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at != MAP_FAILED && ::munmap(at, bytes) == 0;
}

// Lets OpenBLAS map the buffers for one product on each processor, and returns their number. It
// keeps them. If the system refuses a buffer, OpenBLAS repeats the request forever, so no product
// may be the first to need one.
int map_buffers(void* library) {
  const auto map = reinterpret_cast<void* (*)(int)>(::dlsym(library, "blas_memory_alloc"));
  const auto give_back = reinterpret_cast<void (*)(void*)>(::dlsym(library, "blas_memory_free"));
  if (map == nullptr || give_back == nullptr) return 0;
  const int64_t processors = std::clamp<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN), 1, kTurnsMax);
  std::vector<void*> buffers;
  buffers.reserve(processors);
  while (std::ssize(buffers) < processors && can_map(kProbeBytes)) {
    void* buffer = map(0);
    if (buffer == nullptr) break;
    buffers.push_back(buffer);
  }
  for (void* buffer : buffers) give_back(buffer);
  return static_cast<int>(buffers.size());
}

// Runs in a thread of its own, whose processors nobody else inherits.
Result<void> load() {
  if (!keeps_one_processor()) {
    return fail(Code::kUnsupported,
                "OpenBLAS: it would start threads, because this process may not choose its "
                "processors (OPENBLAS_NUM_THREADS=1 in the environment prevents them)");
  }
  auto library = open_library(SIGNALBOX_OPENBLAS_LIBRARY);
  if (!library) library = open_library("libopenblas.so.0");
  if (!library) return tl::unexpected<Error>(std::move(library).error());
  sgemm = reinterpret_cast<Sgemm>(::dlsym(*library, "cblas_sgemm"));
  if (sgemm == nullptr) return fail(Code::kUnsupported, "OpenBLAS: it has no cblas_sgemm");
  turns = map_buffers(*library);
  if (turns == 0) {
    return fail(Code::kUnsupported,
                "OpenBLAS: the system refuses its buffers of 128 MB (limits of the address space: "
                "ulimit -v, LimitAS=, vm.overcommit_memory)");
  }
  if (rows_agree()) return {};
  return fail(Code::kUnsupported,
              "OpenBLAS: on this processor its result for a row depends on the place of the row");
}

Result<void> load_in_a_thread() {
  try {
    return std::async(std::launch::async, load).get();
  } catch (const std::exception& error) {
    return fail(Code::kUnsupported, "OpenBLAS: it cannot be loaded: {}", error.what());
  }
}

}  // namespace

Result<void> load_openblas() {
  static const Result<void> loaded = load_in_a_thread();
  return loaded;
}

OpenBlasTurn::OpenBlasTurn() {
  for (int left = turns.load();;) {
    if (left == 0) {
      turns.wait(0);
      left = turns.load();
    } else if (turns.compare_exchange_weak(left, left - 1)) {
      return;
    }
  }
}

OpenBlasTurn::~OpenBlasTurn() {
  turns.fetch_add(1);
  turns.notify_one();
}

void openblas_block(int64_t rows, int64_t in, const float* x, const float* panel, float* sums) {
  float padded[kOpenBlasRows * kDepth];         // (kOpenBlasRows, kDepth)
  float turned[kPanelColumns * kOpenBlasRows];  // (64, kOpenBlasRows)
  for (int64_t k = 0; k < in; k += kDepth) {
    const int64_t depth = std::min(kDepth, in - k);
    const float* from = x + k;
    int64_t stride = in;
    if (rows < kOpenBlasRows) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(padded + r * depth, x + r * in + k, depth * sizeof(float));
      std::fill(padded + rows * depth, padded + kOpenBlasRows * depth, 0.0f);
      from = padded;
      stride = depth;
    }
    sgemm(CblasRowMajor, CblasTrans, CblasTrans, kPanelColumns, kOpenBlasRows,
          static_cast<int>(depth), 1.0f, panel + k * kPanelColumns, kPanelColumns, from,
          static_cast<int>(stride), k > 0 ? 1.0f : 0.0f, turned, kOpenBlasRows);
  }
  clear_upper();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < kPanelColumns; ++c)
      sums[r * kPanelColumns + c] = turned[c * kOpenBlasRows + r];
  }
}

}  // namespace signalbox::kernels
