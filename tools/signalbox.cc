// The program's entry point: finds the sub-command and runs it.

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "router/config/reader.h"
#include "tools/command.h"

namespace signalbox::tools {
namespace {

const std::initializer_list<const Command*> kCommands = {
    &kAuditCommand,   &kBenchCommand,  &kCheckAnswerCommand, &kClassifyCommand, &kConfigCommand,
    &kConvertCommand, &kEmbedCommand,  &kEvalCommand,        &kFitCommand,      &kKbCommand,
    &kKeysCommand,    &kModelsCommand, &kReportCommand,      &kRerankCommand,   &kRouteCommand,
    &kRunCommand,     &kServeCommand,  &kTagCommand,         &kTokenizeCommand,
};

int help() {
  std::puts(
      "signalbox: classifies requests for language models and routes each to the model that fits "
      "it\n");
  std::puts("usage: signalbox COMMAND [OPTIONS]\n\ncommands:");
  for (const Command* command : kCommands) {
    std::printf("  %-12.*s %.*s\n", static_cast<int>(command->name.size()), command->name.data(),
                static_cast<int>(command->summary.size()), command->summary.data());
  }
  std::puts("  version      prints the version");
  std::puts("  help         prints this text; `signalbox help COMMAND` prints a command's options");
  return kExitOk;
}

/// Fails if output was printed but could not be written, whichever command printed it.
int with_output(int status) {
  if (status != kExitOk || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return status;
  std::fprintf(stderr, "signalbox: standard output: %s\n", std::strerror(errno));
  return kExitFailure;
}

/// A process that gets no memory or no thread ends with a message, whichever thread notices it.
[[noreturn]] void end_without_resources() {
  constexpr int kExitAborted = 134;
  try {
    if (const auto failure = std::current_exception()) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "signalbox: there is not enough memory; raise the limit (ulimit -v, or that of the "
        "container)\n",
        stderr);
    std::_Exit(kExitFailure);
  } catch (const std::system_error& error) {
    std::fprintf(
        stderr,
        "signalbox: a thread or another resource is missing: %s; raise the limits of memory "
        "and processes (ulimit -v, ulimit -u)\n",
        error.what());
    std::_Exit(kExitFailure);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "signalbox: a bug: %s\n", error.what());
  } catch (...) {
  }
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
  std::_Exit(kExitAborted);
}

int report_unknown(const char* name) {
  std::vector<std::string_view> known{"help", "version"};
  for (const Command* command : kCommands) known.push_back(command->name);
  const std::string meant(config::nearest(name, known));
  const std::string hint =
      meant.empty() ? "; see `signalbox help`" : fmt::format("; did you mean \"{}\"?", meant);
  std::fprintf(stderr, "signalbox: unknown command \"%s\"%s\n", name, hint.c_str());
  return kExitUsage;
}

int run(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "help" && argc > 2) {
    std::string option = "--help";
    char* of_command[] = {argv[0], argv[2], option.data(), nullptr};
    return run(3, of_command);
  }
  if (name == "help" || name == "--help" || name == "-h") return help();
  if (name == "version" || name == "--version") {
    std::puts("signalbox " SIGNALBOX_VERSION);
    return kExitOk;
  }
  for (const Command* command : kCommands) {
    if (command->name == name) return command->run(argc - 1, argv + 1);
  }
  if (!name.empty()) return report_unknown(argv[1]);
  std::fputs("signalbox: expected a command; see `signalbox help`\n", stderr);
  return kExitUsage;
}

}  // namespace
}  // namespace signalbox::tools

int main(int argc, char** argv) {
  std::set_terminate(signalbox::tools::end_without_resources);
  return signalbox::tools::with_output(signalbox::tools::run(argc, argv));
}
