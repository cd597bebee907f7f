// The adapter around cxxopts' exceptions.

#include "tools/options.h"

#include <cstdio>

#include "tools/command.h"

namespace signalbox::tools {

int with_options(cxxopts::Options& options, int argc, char** argv,
                 std::initializer_list<const char*> required,
                 const std::function<int(const cxxopts::ParseResult&)>& body) {
  options.add_options()("h,help", "this text");
  cxxopts::ParseResult parsed;
  std::string mistake;
  try {
    parsed = options.parse(argc, argv);
    if (!parsed.unmatched().empty())
      mistake = "unexpected argument \"" + parsed.unmatched().front() + "\"";
    for (const char* name : required) {
      if (mistake.empty() && parsed.count(name) == 0)
        mistake = std::string("--") + name + " is missing";
    }
  } catch (const cxxopts::exceptions::exception& error) {
    mistake = error.what();
  }
  if (mistake.empty() || parsed.count("help") > 0) {
    if (parsed.count("help") == 0) return body(parsed);
    std::fputs(options.help().c_str(), stdout);
    return kExitOk;
  }
  std::fprintf(stderr, "%s: %s; see `%s --help`\n", options.program().c_str(), mistake.c_str(),
               options.program().c_str());
  return kExitUsage;
}

std::filesystem::path model_directory(const std::string& model) {
  const bool is_name = model.find('/') == std::string::npos && !std::filesystem::exists(model);
  return is_name ? std::filesystem::path("models") / model : std::filesystem::path(model);
}

}  // namespace signalbox::tools
