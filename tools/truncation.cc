// Keeps counts instead of printing a line per row, because a file may have a million rows.

#include "tools/truncation.h"

#include <fmt/format.h>

#include "tools/jsonl.h"

namespace signalbox::tools {

void TruncationCounter::print(std::string_view command, std::string_view limit) const {
  if (cut_ == 0) return;
  print_line(fmt::format("signalbox {}: {} of {} texts {} longer than {}; not all of {} was read",
                         command, cut_, texts_, cut_ == 1 ? "is" : "are", limit,
                         cut_ == 1 ? "it" : "them"));
}

}  // namespace signalbox::tools
