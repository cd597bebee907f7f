// SIGNALBOX_ISA chooses the tier of a process, SIGNALBOX_GEMM the code for products in single
// precision. The choice is made once, so each case runs in a child.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "kernels/kernels.h"

namespace signalbox::kernels {
namespace {

// Prints the tier and the code for products that the variables choose, or the error, and ends the
// process.
[[noreturn]] void choose(const std::string& isa, const char* gemm = "") {
  ::setenv("SIGNALBOX_ISA", isa.c_str(), 1);
  ::setenv("SIGNALBOX_GEMM", gemm, 1);
  const auto table = active_table();
  if (table) {
    std::cerr << "tier " << (*table)->tier << " " << (*table)->gemm << "\n";
  } else {
    std::cerr << table.error().message << "\n";
  }
  std::exit(0);
}

TEST(DispatchDeathTest, the_environment_chooses_the_tier_or_the_process_is_refused) {
  for (const std::string_view tier : tier_names()) {
    const std::string name(tier);
    const std::string expected = table_of(name) ? "^tier " + name + " own\n$"
                                                : "SIGNALBOX_ISA: .*cannot run.*\"" + name + "\"";
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
  EXPECT_EXIT(choose(""), testing::ExitedWithCode(0), "^tier " + best + " ");
}

TEST(DispatchDeathTest, the_environment_chooses_the_code_for_products) {
  EXPECT_EXIT(choose("base", "own"), testing::ExitedWithCode(0), "^tier base own\n$");
  const auto openblas = table_of("base", Gemm::kOpenBlas);
  if (!openblas) GTEST_SKIP() << openblas.error().message;
  EXPECT_EXIT(choose("base", "openblas"), testing::ExitedWithCode(0), "^tier base openblas\n$");
}

TEST(DispatchDeathTest, openblas_that_cannot_be_used_is_an_error_with_the_reason) {
  const auto openblas = table_of("base", Gemm::kOpenBlas);
  if (openblas) GTEST_SKIP() << "OpenBLAS can be used";
  EXPECT_EQ(openblas.error().code, Code::kUnsupported);
  EXPECT_EXIT(choose("base", "openblas"), testing::ExitedWithCode(0),
              "^SIGNALBOX_GEMM: OpenBLAS: ");
}

TEST(DispatchDeathTest, an_unknown_code_for_products_is_an_error_that_names_the_known_ones) {
  EXPECT_EXIT(choose("base", "mkl"), testing::ExitedWithCode(0),
              "SIGNALBOX_GEMM: unknown provider of products \"mkl\" .known: own, openblas");
}

TEST(Dispatch, openblas_is_faster_only_on_processors_with_avx_and_without_a_tier_for_them) {
  EXPECT_EQ(faster_gemm("base", true), Gemm::kOpenBlas);
  EXPECT_EQ(faster_gemm("base", false), Gemm::kOwn);
  for (const std::string_view tier : tier_names().subspan(1))
    EXPECT_EQ(faster_gemm(tier, true), Gemm::kOwn) << tier;
}

}  // namespace
}  // namespace signalbox::kernels
