// The adapter to OpenBLAS. It uses the variant with threads and keeps it from starting any.
// Debian's variant without threads was tried: calls from several threads now and then gave wrong
// sums, because it hands out its working memory without a lock.

#include "kernels/openblas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
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

// Written before load_openblas() returns for the first time.
Sgemm sgemm = nullptr;

// Several kernels of OpenBLAS leave values in the upper halves of the registers, which slow down
// code for SSE: with those for Sandy Bridge, the base tier took four times as long.
void clear_upper() {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx");
  if (has_avx) x86::clear_upper();
#endif
}

// Opens a library on one processor only: OpenBLAS starts a thread for every further processor on
// which the calling thread may run.
void* open_on_one_processor(const char* name) {
  cpu_set_t before, one;
  CPU_ZERO(&one);
  const int here = ::sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before, &before) != 0)
    return nullptr;
  CPU_SET(here, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) return nullptr;
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  ::sched_setaffinity(0, sizeof before, &before);
  return library;
}

int call(void* library, const char* function) {
  const auto address = reinterpret_cast<int (*)()>(::dlsym(library, function));
  return address == nullptr ? -1 : address();
}

// Returns the handle of a library that several threads may call and that has no threads.
Result<void*> open_library(const char* name) {
  constexpr int kThreads = 1;  // openblas_get_parallel(): neither without threads nor OpenMP
  void* library = open_on_one_processor(name);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return fail(Code::kUnsupported, "OpenBLAS: {}",
                reason == nullptr ? "cannot run on one processor while it is loaded" : reason);
  }
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

Result<void> load() {
  auto library = open_library(SIGNALBOX_OPENBLAS_LIBRARY);
  if (!library) library = open_library("libopenblas.so.0");
  if (!library) return tl::unexpected<Error>(std::move(library).error());
  sgemm = reinterpret_cast<Sgemm>(::dlsym(*library, "cblas_sgemm"));
  if (sgemm == nullptr) return fail(Code::kUnsupported, "OpenBLAS: it has no cblas_sgemm");
  if (rows_agree()) return {};
  return fail(Code::kUnsupported,
              "OpenBLAS: on this processor its result for a row depends on the place of the row");
}

}  // namespace

Result<void> load_openblas() {
  static const Result<void> loaded = load();
  return loaded;
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
