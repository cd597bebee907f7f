// One tokenizer used by several threads. A separate file, because the thread sanitizer needs no
// other of these tests.

#include <thread>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

TEST(Threads, one_tokenizer_serves_many_threads) {
  const auto tokenizer = small_tokenizer();
  const std::string_view text = "Sending caf\xC3\xA9 [MASK] e\xCC\x81\xCC\x96 \xE4\xB8\xAD!";
  Encoding expected;
  tokenizer->encode(text, {}, expected);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& mine : wrong) {
    threads.emplace_back([&] {
      Encoding found;
      for (int i = 0; i < 500; ++i) {
        tokenizer->encode(text, {}, found);
        mine += found.ids != expected.ids;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace signalbox::tokenizer
