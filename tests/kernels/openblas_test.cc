// Loading OpenBLAS changes nothing of the process, and a process that restricts it gets an error.
// It is loaded once, so each case runs in a process that has not loaded it.

#include "kernels/openblas.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernels.h"

namespace signalbox::kernels {
namespace {

// Returns true if a child of this process can load it.
bool is_usable() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(load_openblas() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

[[noreturn]] void load_and_exit() {
  const Result<void> loaded = load_openblas();
  std::cerr << (loaded ? "loaded" : loaded.error().message) << "\n";
  std::exit(0);
}

// Makes sched_setaffinity fail, as our unit of systemd does.
void forbid_to_choose_processors() {
  const sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_setaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), const_cast<sock_filter*>(rules)};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::cerr << "no filter of system calls\n";
    std::exit(1);
  }
}

// Allows `more` bytes of address space than the process has now.
void limit_address_space(size_t more) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * ::sysconf(_SC_PAGESIZE) + more;
  const rlimit limits{limit, limit};
  ::setrlimit(RLIMIT_AS, &limits);
}

struct ProcessState {
  std::vector<std::string> environment;
  std::string processors;
  int64_t threads = 0;
  bool operator==(const ProcessState&) const = default;
};

ProcessState process_state() {
  ProcessState out;
  for (char** variable = environ; *variable != nullptr; ++variable)
    out.environment.emplace_back(*variable);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(0, sizeof processors, &processors);
  for (int i = 0; i < CPU_SETSIZE; ++i) out.processors += CPU_ISSET(i, &processors) ? '1' : '0';
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    out.threads += thread.is_directory() ? 1 : 0;
  return out;
}

class OpenBlasDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program anew
    if (!is_usable()) GTEST_SKIP() << load_openblas().error().message;
  }
};

TEST_F(OpenBlasDeathTest, openblas_does_not_change_the_process) {
  const auto load = [] {
    const ProcessState before = process_state();
    const bool loaded = load_openblas().has_value();
    std::cerr << (loaded && process_state() == before ? "the same" : "changed") << "\n";
    std::exit(0);
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(0), "^the same\n$");
}

TEST_F(OpenBlasDeathTest, openblas_is_refused_if_it_would_start_threads) {
  const auto load = [](const char* threads) {
    ::setenv("OPENBLAS_NUM_THREADS", threads, 1);
    forbid_to_choose_processors();
    load_and_exit();
  };
  EXPECT_EXIT(load("2"), testing::ExitedWithCode(0), "^OpenBLAS: .*OPENBLAS_NUM_THREADS=1");
  EXPECT_EXIT(load("1"), testing::ExitedWithCode(0), "^loaded\n$");
}

TEST_F(OpenBlasDeathTest, openblas_is_refused_if_its_buffers_cannot_be_mapped) {
  const auto load = [] {
    limit_address_space(size_t{240} << 20);
    load_and_exit();
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(0), "^OpenBLAS: .*buffers");
}

TEST_F(OpenBlasDeathTest, more_threads_than_buffers_take_turns) {
  const auto multiply = [] {
    limit_address_space(size_t{600} << 20);  // for three buffers at most, on any machine
    if (!load_openblas()) std::exit(1);
    limit_address_space(size_t{200} << 20);
    const std::vector<float> x(16 * 768, 1), panel(768 * 64, 2);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        std::vector<float> sums(16 * 64);
        for (int n = 0; n < 200; ++n) {
          const OpenBlasTurn turn;
          openblas_block(16, 768, x.data(), panel.data(), sums.data());
        }
      });
    }
    threads.clear();
    std::cerr << "done\n";
    std::exit(0);
  };
  ::setenv("OPENBLAS_CORETYPE", "Nehalem", 1);  // its kernels use buffers at every shape
  EXPECT_EXIT(multiply(), testing::ExitedWithCode(0), "^done\n$");
  ::unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace signalbox::kernels
