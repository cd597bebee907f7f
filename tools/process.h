#pragma once
// Runs other programs without a shell, so arguments reach them unchanged whatever they contain.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

struct ProgramOptions {
  std::string_view input = {};  // its standard input; at most kProgramInputMax bytes
  /// Called about ten times a second while the program runs. If it returns false, the program is
  /// terminated.
  std::function<bool()> watch = {};
};

inline constexpr size_t kProgramInputMax = 16 << 10;  // fits into the buffer of a pipe

/// Finds argv[0] on PATH, runs it, and waits for it. Its standard output is discarded, because ours
/// carries only results; its standard error is ours, so that the user sees its progress and its
/// errors. Returns its exit status, or 128 + N if signal N ended it. Errors: kNotFound if there is
/// no such program; kIo. Not thread-safe.
Result<int> run_program(const std::vector<std::string>& argv, const ProgramOptions& options = {});

/// Sleeps, but not longer than until an InterruptGuard has seen a signal.
void sleep_unless_interrupted(double seconds);

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
