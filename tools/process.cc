// Uses posix_spawnp and waitpid, because popen and system would run a shell.

#include "tools/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace signalbox::tools {
namespace {

volatile std::sig_atomic_t signal_seen_ = 0;
volatile std::sig_atomic_t child_ = 0;  // process id; 0: none

void on_signal(int number) {
  signal_seen_ = number;
  if (child_ > 0) ::kill(child_, number);
}

constexpr auto kWatchInterval = std::chrono::milliseconds(100);
constexpr auto kPollInterval = std::chrono::milliseconds(10);

/// A pipe that contains `text` and ends after it. Returns the end to read from.
Result<int> pipe_of(std::string_view text) {
  SIGNALBOX_CHECK(text.size() <= kProgramInputMax);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Code::kIo, "pipe: {}", std::strerror(errno));
  const ssize_t written = ::write(ends[1], text.data(), text.size());
  const int error = errno;
  ::close(ends[1]);
  if (written == static_cast<ssize_t>(text.size())) return ends[0];
  ::close(ends[0]);
  return fail(Code::kIo, "pipe: {}", std::strerror(error));
}

// Returns the status that waitpid() reports.
Result<int> wait_for(pid_t pid, const std::function<bool()>& watch) {
  int status = 0;
  auto next = std::chrono::steady_clock::now() + kWatchInterval;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, watch ? WNOHANG : 0);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return fail(Code::kIo, "waitpid: {}", std::strerror(errno));
    if (!watch) continue;
    std::this_thread::sleep_for(kPollInterval);
    if (std::chrono::steady_clock::now() < next) continue;
    next += kWatchInterval;
    if (!watch()) ::kill(pid, SIGTERM);
  }
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& argv, const ProgramOptions& options) {
  SIGNALBOX_CHECK(!argv.empty());
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  SIGNALBOX_TRY(const int input, pipe_of(options.input));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(input);
  if (error == ENOENT) return fail(Code::kNotFound, "{}: no such program on PATH", argv[0]);
  if (error != 0) return fail(Code::kIo, "{}: {}", argv[0], std::strerror(error));

  child_ = pid;
  if (signal_seen_ != 0) ::kill(pid, signal_seen_);  // the signal arrived before the child existed
  const auto status = wait_for(pid, options.watch);
  child_ = 0;
  if (!status) return fail_in(argv[0], status.error());
  return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
}

void sleep_unless_interrupted(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (signal_seen_ == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPollInterval);
  }
}

InterruptGuard::InterruptGuard() {
  signal_seen_ = 0;
  struct sigaction action {
  };  // no SA_RESTART: the signal must also interrupt a wait for another pull's lock
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int InterruptGuard::signal_seen() {
  return signal_seen_;
}

}  // namespace signalbox::tools
