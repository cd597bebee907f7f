// Tests the blocks of prompts and the memory of them.

#include "router/workers/prefix.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace signalbox::workers {
namespace {

std::vector<uint64_t> blocks(std::string_view text, size_t size = 4) {
  const std::string_view parts[] = {text};
  return prefix_blocks(parts, size);
}

TEST(PrefixBlocks, are_the_same_up_to_the_first_difference_of_texts) {
  const auto a = blocks("aaaabbbbcccc");
  const auto b = blocks("aaaabbbbdddd");
  ASSERT_EQ(a.size(), 3U);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2], b[2]);
}

TEST(PrefixBlocks, depend_on_the_text_before_them) {
  EXPECT_NE(blocks("aaaabbbb")[1], blocks("ccccbbbb")[1]);
  EXPECT_NE(blocks("aaaaaaaa")[0], blocks("aaaaaaaa")[1]);
}

TEST(PrefixBlocks, do_not_depend_on_the_parts_of_the_text) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      const std::string_view parts[] = {std::string_view(text).substr(0, i),
                                        std::string_view(text).substr(i, j - i),
                                        std::string_view(text).substr(j)};
      ASSERT_EQ(prefix_blocks(parts, 5), blocks(text, 5)) << i << ' ' << j;
    }
  }
}

TEST(PrefixBlocks, are_bounded_for_an_endless_text) {
  EXPECT_EQ(blocks(std::string(100'000, 'a'), 4).size(), kPromptBlocksMax);
  EXPECT_EQ(blocks("").size(), 0U);
  EXPECT_EQ(blocks("a").size(), 1U);
}

TEST(PrefixEnds, exist_only_for_messages_that_end_beyond_a_length) {
  const std::string_view one[] = {"", "system", "context", "question"};
  const std::string_view other[] = {"system", "context", "another question"};
  const auto a = prefix_ends(one, 13), b = prefix_ends(other, 13);
  ASSERT_EQ(a.size(), 2U);
  ASSERT_EQ(b.size(), 2U);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_NE(a[1], b[1]);
  const std::string_view cut[] = {"system", "con", "text"};
  EXPECT_NE(prefix_ends(cut, 13)[0], a[0]);
  EXPECT_EQ(prefix_ends(one, 6).size(), 3U);
  EXPECT_TRUE(prefix_ends(one, 22).empty());
  EXPECT_EQ(prefix_ends(std::vector<std::string_view>(1000, "x"), 10).size(), kPromptEndsMax);
}

TEST(PrefixCache, knows_the_longest_beginning) {
  PrefixCache cache(10);
  cache.add(blocks("aaaabbbb"));
  EXPECT_EQ(cache.known(blocks("aaaabbbbcccc")), 2U);
  EXPECT_EQ(cache.known(blocks("aaaacccc")), 1U);
  EXPECT_EQ(cache.known(blocks("bbbb")), 0U);
  cache.clear();
  EXPECT_EQ(cache.known(blocks("aaaa")), 0U);
}

TEST(PrefixCache, forgets_the_end_of_the_oldest_first) {
  PrefixCache cache(4);
  cache.add(blocks("aaaabbbbcccc"));
  cache.add(blocks("ddddeeee"));
  EXPECT_EQ(cache.known(blocks("aaaabbbbcccc")), 2U);
  EXPECT_EQ(cache.known(blocks("ddddeeee")), 2U);
  cache.add(blocks("aaaa"));
  cache.add(blocks("ffff"));
  EXPECT_EQ(cache.known(blocks("aaaabbbb")), 1U);
}

TEST(PrefixCache, keeps_the_beginning_of_a_text_longer_than_itself) {
  PrefixCache cache(2);
  cache.add(blocks("aaaabbbbccccdddd"));
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.known(blocks("aaaabbbbccccdddd")), 2U);
}

// known() uses a binary search, which is correct only if a block is never present without its
// predecessors.
TEST(PrefixCache, holds_no_block_without_those_before_it) {
  std::mt19937 random(7);
  PrefixCache cache(50);
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) {
    std::string text;
    const auto length = random() % 20;
    for (size_t k = 0; k <= length; ++k) text.append(4, static_cast<char>('a' + random() % 2));
    texts.push_back(text);
  }
  for (int i = 0; i < 3000; ++i) {
    cache.add(blocks(texts[random() % texts.size()]));
    ASSERT_LE(cache.size(), 50U);
    const auto all = blocks(texts[random() % texts.size()]);
    size_t walked = 0;
    bool gap = false;
    for (const uint64_t block : all) {
      const bool there = cache.known({&block, 1}) == 1;
      ASSERT_FALSE(gap && there);
      gap = gap || !there;
      walked += there;
    }
    ASSERT_EQ(cache.known(all), walked);
  }
}

}  // namespace
}  // namespace signalbox::workers
