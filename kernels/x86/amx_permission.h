#pragma once
// Reports whether a process may use AMX. The registers take 8 KB a thread, so Linux (5.16 and
// later) saves them only for processes that request it.

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace signalbox::kernels::x86 {

/// True if the processor has tiles of bytes and of bfloat16 and the kernel grants them to this
/// process, which it does at most once. The kernel refuses if a thread's alternative signal stack
/// is too small for the registers.
inline bool may_use_amx() {
  constexpr unsigned kBF16 = 1u << 22, kTile = 1u << 24, kI8 = 1u << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kBF16) == 0 || (d & kTile) == 0 || (d & kI8) == 0) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the state component in XCR0
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace signalbox::kernels::x86
