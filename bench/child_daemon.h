#pragma once
// Runs the daemon as a child process, so that the benchmark's own cost is not measured.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace signalbox::bench {

inline std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

class ChildDaemon {
 public:
  /// Waits until the daemon is ready; ends the benchmark if it does not start.
  ChildDaemon(const std::string& program, const std::string& config,
              const std::string& log_level = "info") {
    const auto begin = std::chrono::steady_clock::now();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // stops the daemon regardless of how the benchmark ends
      ::dup2(ends[1], STDERR_FILENO);
      ::execl(program.c_str(), program.c_str(), "serve", "--config", config.c_str(), "--log-level",
              log_level.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string log;
    char byte;
    while (log.find("ready in ") == std::string::npos || log.back() != '\n') {
      if (::read(ends[0], &byte, 1) != 1) {
        std::fprintf(stderr, "the daemon did not start:\n%s", log.c_str());
        std::exit(1);
      }
      log.push_back(byte);
    }
    ready_ms_ =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    // Keep reading, because the daemon would block on a full log pipe.
    reader_ = std::thread([end = ends[0]] {
      char rest[65536];
      while (::read(end, rest, sizeof rest) > 0) {
      }
      ::close(end);
    });
  }
  ~ChildDaemon() {
    send(SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    reader_.join();
  }
  /// User and system time of the daemon so far.
  double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    double user = 0, system = 0;
    std::sscanf(text.c_str() + text.rfind(')') + 2,
                "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf %lf", &user, &system);
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  double resident_mb() const {
    std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
    double total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
  }

  ChildDaemon(const ChildDaemon&) = delete;
  ChildDaemon& operator=(const ChildDaemon&) = delete;

  double ready_ms() const { return ready_ms_; }
  void send(int signal) const { ::kill(pid_, signal); }

 private:
  pid_t pid_ = 0;
  std::thread reader_;  // reads its log
  double ready_ms_ = 0;
};

}  // namespace signalbox::bench
