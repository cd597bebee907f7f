#pragma once
// Runs other programs without a shell, so arguments reach them unchanged whatever they contain.

#include <string>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

/// Finds argv[0] on PATH, runs it, and waits for it. Its standard input is empty; its standard
/// output is discarded, because ours carries only results; its standard error is ours, so that the
/// user sees its progress and its errors. Returns its exit status, or 128 + N if signal N ended it.
/// Errors: kNotFound if there is no such program; kIo. Not thread-safe.
Result<int> run_program(const std::vector<std::string>& argv);

/// While an InterruptGuard exists, SIGINT and SIGTERM end the program that run_program() waits for
/// instead of this process, so that the caller can clean up. At most one may exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that arrived; 0: none.
  static int signal_seen();
};

}  // namespace signalbox::tools
