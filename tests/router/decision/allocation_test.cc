// Deciding must allocate nothing once its work space has grown. This file counts all allocations of
// the program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/router/decision/many_decisions.h"

namespace {
std::atomic<size_t> allocations{0};
}  // namespace

// Not inlined, because the compiler would report a mismatched pair.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace signalbox::decision {
namespace {

TEST(Allocation, the_test_counts_allocations) {
  const size_t before = allocations;
  ::operator delete(::operator new(1));  // the compiler may remove `delete new`
  EXPECT_EQ(allocations, before + 1);
}

TEST(Allocation, a_decision_allocates_nothing) {
  for (const auto strategy :
       {config::Routing::Strategy::kPriority, config::Routing::Strategy::kFusion}) {
    ManyDecisions many(strategy);
    EXPECT_EQ(many.decide().decision, ManyDecisions::kExpected);
    const size_t before = allocations;
    const Outcome outcome = many.decide();
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(outcome.decision, ManyDecisions::kExpected);
    EXPECT_TRUE(outcome.fixed);
  }
}

}  // namespace
}  // namespace signalbox::decision
