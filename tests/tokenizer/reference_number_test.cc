// Comparison with numbers that the reference read and wrote: data/numbers.jsonl.

#include "tokenizer/hf/reference_number.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

TEST(ReferenceNumber, reads_the_same_bits_as_the_reference) {
  std::istringstream rows(read_file(data_file("numbers.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const auto found = reference_number(row->root().find("number").value().text());
    const std::string expected(row->root().find("reads").value().text());
    if (expected == "refused") {
      EXPECT_FALSE(found) << line;
      continue;
    }
    ASSERT_TRUE(found) << line;
    const double value = std::strtod(expected.c_str(), nullptr);
    EXPECT_EQ(std::signbit(*found), std::signbit(value)) << line;
    EXPECT_EQ(*found, value) << line;
  }
  EXPECT_GE(count, 90);
}

}  // namespace
}  // namespace signalbox::tokenizer
