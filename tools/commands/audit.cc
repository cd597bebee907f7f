// `signalbox audit verify FILE...`: checks the chain of an audit log.

#include <fmt/format.h>

#include <cstdio>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "router/audit/verify.h"
#include "tools/command.h"
#include "tools/jsonl.h"
#include "tools/options.h"

namespace signalbox::tools {
namespace {

int verify_log(const std::vector<std::string>& files) {
  const auto verified = audit::verify({files.begin(), files.end()});
  if (!verified) return report(verified.error());
  if (verified->first > 1)
    std::printf("the files begin with entry %lu: earlier entries are not checked\n",
                static_cast<unsigned long>(verified->first));
  if (verified->torn_bytes > 0)
    std::printf("the last line is torn: %zu bytes without a line break are not checked\n",
                verified->torn_bytes);
  const uint64_t count = verified->first == 0 ? 0 : verified->last.number - verified->first + 1;
  if (count == 1) {
    std::puts("1 entry is as it was written");
  } else {
    std::printf("%lu entries are as they were written\n", static_cast<unsigned long>(count));
  }
  if (count > 0)
    std::printf("entry %lu is the last; its digest is %s\n",
                static_cast<unsigned long>(verified->last.number), verified->last.digest.c_str());
  return kExitOk;
}

int audit_command(int argc, char** argv) {
  cxxopts::Options options(
      "signalbox audit",
      "Verifies that no entry of a chain of the audit log (global.services.audit) was changed, "
      "removed or inserted since it was written. Name all files of the chain, in any order. "
      "Whoever can write the files could cut off their end or write the whole chain anew, so "
      "compare the last digest with one that was kept elsewhere.");
  options.positional_help("verify FILE...");
  options.add_options()("words", "verify and the files",
                        cxxopts::value<std::vector<std::string>>());
  options.parse_positional("words");
  return with_options(options, argc, argv, {}, [](const cxxopts::ParseResult& parsed) {
    std::vector<std::string> words;
    if (parsed.count("words") > 0) words = parsed["words"].as<std::vector<std::string>>();
    if (words.size() >= 2 && words[0] == "verify")
      return verify_log({words.begin() + 1, words.end()});
    const std::string mistake = fmt::format(
        "signalbox audit: expected \"verify FILE...\", found \"{}\"; see `signalbox audit "
        "--help`\n",
        fmt::join(words, " "));
    std::fputs(mistake.c_str(), stderr);
    return kExitUsage;
  });
}

}  // namespace

const Command kAuditCommand = {"audit", "verifies the audit log", audit_command};

}  // namespace signalbox::tools
