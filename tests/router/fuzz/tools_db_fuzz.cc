// Feeds arbitrary bytes as a database of tools. A database that loads has unique names, and
// definitions that are JSON; ranking must accept all of them.

#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "router/plugins/tools/database.h"
#include "router/plugins/tools/ranking.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  namespace tools = signalbox::plugins;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = tools::parse_database(std::string(text));
  if (!read) {
    SIGNALBOX_CHECK(!read.error().message.empty());
    return 0;
  }
  std::vector<tools::Candidate> candidates;
  for (const tools::Tool& tool : *read) {
    SIGNALBOX_CHECK(!tool.name.empty() && json::Document::parse(tool.definition));
    candidates.push_back({&tool, static_cast<double>(candidates.size() % 7) / 7});
  }
  const tools::Weights weights{1, 1, 1, 1, 1};
  const auto ranked = tools::rank(text.substr(0, 1000), "a", candidates, weights, {});
  SIGNALBOX_CHECK(ranked.size() == candidates.size());
  for (const tools::Ranked& each : ranked) SIGNALBOX_CHECK(each.score >= 0 && each.score <= 1);
  return 0;
}
