#pragma once
// A sub-command of the signalbox program. Each stands in its own file under tools/commands and is
// listed once, in tools/signalbox.cc.

#include <string_view>

namespace signalbox::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

struct Command {
  std::string_view name;     // "tokenize"
  std::string_view summary;  // one line for `signalbox help`
  /// Gets argv with argv[0] the command's own name; returns an exit code. Results go to standard
  /// output, messages and progress to standard error.
  int (*run)(int argc, char** argv);
};

extern const Command kBenchCommand;
extern const Command kCheckAnswerCommand;
extern const Command kClassifyCommand;
extern const Command kConfigCommand;
extern const Command kConvertCommand;
extern const Command kEmbedCommand;
extern const Command kEvalCommand;
extern const Command kFitCommand;
extern const Command kModelsCommand;
extern const Command kRouteCommand;
extern const Command kRunCommand;
extern const Command kServeCommand;
extern const Command kTagCommand;
extern const Command kTokenizeCommand;

}  // namespace signalbox::tools
