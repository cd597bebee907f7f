// SIGNALBOX_ISA chooses the tier of a process. The choice is made once, so each case runs in a
// child.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/kernels.h"

namespace signalbox::kernels {
namespace {

// Prints the tier that SIGNALBOX_ISA=name chooses, or the error, and ends the process.
[[noreturn]] void choose(const std::string& name) {
  ::setenv("SIGNALBOX_ISA", name.c_str(), 1);
  const auto table = active_table();
  std::cerr << (table ? "tier " + std::string((*table)->tier) : table.error().message) << "\n";
  std::exit(0);
}

TEST(DispatchDeathTest, the_environment_chooses_the_tier_or_the_process_is_refused) {
  for (const std::string_view tier : tier_names()) {
    const std::string name(tier);
    const std::string expected =
        table_of(name) ? "^tier " + name + "\n$" : "SIGNALBOX_ISA: .*cannot run.*\"" + name + "\"";
    EXPECT_EXIT(choose(name), testing::ExitedWithCode(0), expected);
  }
}

TEST(DispatchDeathTest, an_unknown_tier_is_an_error_that_names_the_known_ones) {
  EXPECT_EXIT(choose("sse9"), testing::ExitedWithCode(0),
              "SIGNALBOX_ISA: unknown kernel tier \"sse9\" .known: base, ");
}

TEST(DispatchDeathTest, without_the_environment_the_best_supported_tier_is_chosen) {
  std::string best = "base";
  for (const std::string_view tier : tier_names()) {
    if (table_of(tier)) best = tier;
  }
  if (best == "bf16") best = "(vnni|bf16)";  // by manufacturer
  EXPECT_EXIT(choose(""), testing::ExitedWithCode(0), "^tier " + best + "\n$");
}

}  // namespace
}  // namespace signalbox::kernels
