#pragma once
// Other programs, run without a shell: arguments arrive as they are written here, whatever they
// contain.

#include <string>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

/// Runs argv[0], found on PATH, and waits for it. Its standard input is empty, its standard output
/// is thrown away (ours carries results only) and its standard error is ours, so that its progress
/// and its complaints are seen. Returns its exit status, 128 + N when signal N ended it. Errors:
/// kNotFound when there is no such program, kIo. Not thread-safe.
Result<int> run_program(const std::vector<std::string>& argv);

/// While one stands, SIGINT and SIGTERM end the program that run_program() waits for and not this
/// one, so that the caller can put away what is half done. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that came, 0 for none.
  static int signal_seen();
};

}  // namespace signalbox::tools
