// Feeds arbitrary bytes as the manifest of a knowledge base. A manifest that loads has labels with
// examples, and groups of known labels.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "router/knowledge/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = knowledge::parse_manifest(text, "kb.yaml");
  if (!read) {
    SIGNALBOX_CHECK(!read.error().message.empty());
    return 0;
  }
  SIGNALBOX_CHECK(!read->labels.empty());
  for (const knowledge::Label& label : read->labels) SIGNALBOX_CHECK(!label.examples.empty());
  for (const auto& [group, members] : read->groups) {
    for (const std::string& member : members)
      SIGNALBOX_CHECK(std::ranges::find(read->labels, member, &knowledge::Label::name) !=
                      read->labels.end());
  }
  const config::KnowledgeBase whole = knowledge::complete({}, *read);
  SIGNALBOX_CHECK(whole.groups.size() == read->groups.size());
  return 0;
}
