// Uses posix_spawnp and waitpid, because popen and system would run a shell.

#include "tools/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace signalbox::tools {
namespace {

volatile std::sig_atomic_t signal_seen_ = 0;
volatile std::sig_atomic_t child_ = 0;  // process id; 0: none

void on_signal(int number) {
  signal_seen_ = number;
  if (child_ > 0) ::kill(child_, number);
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& argv) {
  SIGNALBOX_CHECK(!argv.empty());
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return fail(Code::kNotFound, "{}: no such program on PATH", argv[0]);
  if (error != 0) return fail(Code::kIo, "{}: {}", argv[0], std::strerror(error));

  child_ = pid;
  if (signal_seen_ != 0) ::kill(pid, signal_seen_);  // the signal arrived before the child existed
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == EINTR) continue;
    child_ = 0;
    return fail(Code::kIo, "{}: {}", argv[0], std::strerror(errno));
  }
  child_ = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
