#pragma once
// A sub-command of the signalbox program. Each sub-command has its own file in tools/commands and
// one entry in tools/signalbox.cc.

#include <string_view>

namespace signalbox::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

struct Command {
  std::string_view name;     // "tokenize"
  std::string_view summary;  // one line for `signalbox help`
  /// Runs the command and returns its exit code. argv[0] is the command's own name. Results go to
  /// standard output; messages and progress go to standard error.
  int (*run)(int argc, char** argv);
};

extern const Command kAuditCommand;
extern const Command kBenchCommand;
extern const Command kCheckAnswerCommand;
extern const Command kClassifyCommand;
extern const Command kConfigCommand;
extern const Command kConvertCommand;
extern const Command kEmbedCommand;
extern const Command kEvalCommand;
extern const Command kFitCommand;
extern const Command kKbCommand;
extern const Command kKeysCommand;
extern const Command kModelsCommand;
extern const Command kReportCommand;
extern const Command kRerankCommand;
extern const Command kRouteCommand;
extern const Command kRunCommand;
extern const Command kServeCommand;
extern const Command kTagCommand;
extern const Command kTokenizeCommand;

}  // namespace signalbox::tools
