#pragma once
// Runs real servers for tests, from Debian's packages. Each has its own folder and port, and ends
// with the test.

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/router/net/sockets.h"

namespace signalbox::test {

inline bool is_open(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool open = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return open;
}

/// Returns the first existing program, or "".
inline std::string program(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return "";
}

class ServerProcess {
 public:
  ServerProcess(std::string name, std::string user = "") : user_(std::move(user)) {
    static int count = 0;  // a test may run two servers of a kind
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("{}{}-{}", name, ::getpid(), ++count);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    if (const passwd* account = owner()) {
      EXPECT_EQ(::chown(folder_.c_str(), account->pw_uid, account->pw_gid), 0);
    }
  }
  ~ServerProcess() {
    end();
    std::filesystem::remove_all(folder_);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  uint16_t port() const { return port_; }

  bool is_running() const { return pid_ > 0; }

  /// Runs a program to its end.
  bool run(std::vector<std::string> command) const {
    const pid_t pid = spawn(std::move(command));
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && status == 0;
  }
  /// Starts the server and waits until it listens.
  void start(std::vector<std::string> command) {
    pid_ = spawn(std::move(command));
    for (int i = 0; i < 200 && !is_open(port_); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(is_open(port_)) << "the server does not listen; its log ends:\n" << log_end();
  }
  /// Sends a signal to the server and to all processes that it has started, which may be in their
  /// own process groups.
  void signal(int number) const {
    for (const pid_t pid : family()) ::kill(pid, number);
  }
  /// Kills all of them as by kill -9. All must be gone, because PostgreSQL does not start while a
  /// process still holds its shared memory.
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGSTOP);  // otherwise it could start another process before it is killed
    const std::vector<pid_t> all = family();
    for (const pid_t pid : all) ::kill(pid, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const pid_t pid : all) {
      while (is_alive(pid)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_ = -1;
  }

 private:
  std::vector<pid_t> family() const {
    std::vector<pid_t> out{pid_};
    for (size_t i = 0; i < out.size(); ++i) {
      std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", out[i]));
      for (pid_t child; children >> child;) out.push_back(child);
    }
    return out;
  }
  /// Zombies, which nobody has waited for yet, do not count as alive.
  static bool is_alive(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string stat;
    if (!std::getline(file, stat)) return false;
    const size_t name_end =
        stat.rfind(')');  // the end of the program's name, which can contain any character
    return name_end + 2 < stat.size() && stat[name_end + 2] != 'Z';
  }
  std::string log_end() const {
    std::ifstream file(folder_ / "log");
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    return all.substr(all.size() - std::min<size_t>(all.size(), 2000));
  }
  const passwd* owner() const {
    return user_.empty() || ::geteuid() != 0 ? nullptr : ::getpwnam(user_.c_str());
  }
  pid_t spawn(std::vector<std::string> command) const {
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    const passwd* account = owner();
    const std::string log = (folder_ / "log").string();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (account != nullptr && (::setgid(account->pw_gid) != 0 || ::setuid(account->pw_uid) != 0))
      ::_exit(126);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::close_range(3, ~0U, 0);  // otherwise it would keep connections of the test open
    ::execv(words.front(), words.data());
    ::_exit(127);
  }

  std::string user_;
  std::filesystem::path folder_;
  uint16_t port_ = closed_port();
  pid_t pid_ = -1;
};

}  // namespace signalbox::test
