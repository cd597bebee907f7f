// Tests the form in which routers share the changes of what they learn.

#include "router/shared_learning/changes.h"

#include <gtest/gtest.h>

namespace signalbox::shared_learning {
namespace {

using learning::Conversation;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kKey(64, 'a');

Fields entry_of(const Conversation& conversation, int64_t used_ms) {
  Fields out{"key", kKey};
  const auto fields = fields_of(conversation, used_ms).value();
  out.insert(out.end(), fields.begin(), fields.end());
  return out;
}

TEST(LearningChange, is_read_as_it_was_written) {
  const Conversation conversation{{"small", "adapter", "r/d"}, 3, 2, {}};
  const auto kept = read_change(entry_of(conversation, 77)).value();
  EXPECT_EQ(kept.kind, Change::Kind::kConversation);
  EXPECT_EQ(kept.key, kKey);
  EXPECT_EQ(kept.conversation.last.model, "small");
  EXPECT_EQ(kept.conversation.last.upstream_name, "adapter");
  EXPECT_EQ(kept.conversation.last.decision, "r/d");
  EXPECT_EQ(kept.conversation.turns, 3u);
  EXPECT_EQ(kept.conversation.switches, 2u);
  EXPECT_EQ(kept.used_ms, 77);
  EXPECT_EQ(read_change({"key", kKey})->kind, Change::Kind::kForgotten);
  EXPECT_EQ(read_change({"reset", "12"})->kind, Change::Kind::kReset);
  EXPECT_EQ(read_change({"reset", "12"})->resets, 12);
  const auto verdicts = read_change({"verdicts", "r/d\nsmall", "counts", "1 2 0 64"}).value();
  EXPECT_EQ(verdicts.decision, "r/d");
  EXPECT_EQ(verdicts.model, "small");
  EXPECT_EQ(verdicts.tally.counts[3], 64u);
  EXPECT_EQ(counts_of(verdicts.tally), "1 2 0 64");
}

TEST(LearningChange, sums_are_read_as_they_were_written) {
  learning::Regression sums;
  learning::Features features;
  features.add_signal("keyword", "code");
  for (int i = 0; i < 300; ++i) sums.add(features, learning::Verdict::kFailed);
  const std::string text = sums_of(sums);
  EXPECT_LE(text.size(), kSumsBytesMax);
  const auto read = read_sums(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(sums_of(*read), text);
  const auto change = read_change({"sums", "r/d\nsmall"}).value();
  EXPECT_EQ(change.kind, Change::Kind::kSums);
  EXPECT_EQ(change.decision, "r/d");
  EXPECT_EQ(change.model, "small");
}

TEST(LearningChange, refuses_sums_that_no_router_writes) {
  learning::Regression sums;
  sums.add({}, learning::Verdict::kGoodFit);
  const std::string good = sums_of(sums);
  ASSERT_TRUE(read_sums(good));
  learning::Regression impossible = sums;
  impossible.products[1] = 65;
  learning::Regression most = sums;
  most.count = INT64_MAX;
  learning::Regression least = sums;
  least.rewards[3] = INT64_MIN;
  for (const std::string& bad :
       {std::string(), std::string("odd"), "2" + good.substr(1), good + " ", good + " 0",
        good.substr(0, good.size() - 2), "1  " + good.substr(2), "1 nan" + good.substr(3),
        "01" + good.substr(1), sums_of(impossible), sums_of(most), sums_of(least),
        std::string(1 << 20, '1')}) {
    EXPECT_FALSE(read_sums(bad)) << bad.substr(0, 80);
  }
  EXPECT_FALSE(read_change({"verdicts", "d\nm", "counts", "1 0 0 0", "sums", good}));
  EXPECT_FALSE(read_change({"sums", "d\nm", good}));
  EXPECT_FALSE(read_change({"sums", "d"}));
}

TEST(LearningChange, refuses_other_bytes) {
  const Fields good = entry_of({{"small", "", "d"}, 1, 0, {}}, 1);
  const auto with = [&](size_t i, const std::string& value) {
    Fields out = good;
    out[i] = value;
    return out;
  };
  const std::string large(kNameBytesMax + 1, 'x');
  std::vector<Fields> bad{
      {}, {"key"}, {"key", "short"}, {"reset", "-2"}, {"reset", "02"}, {"reset", ""}, {"odd", "1"}};
  for (size_t i = 2; i < good.size(); i += 2) bad.push_back(with(i, "odd"));
  for (const char* each : {"-1", "01", "1x", "", "99999999999999999999"}) {
    for (const size_t i : {9u, 11u, 13u}) bad.push_back(with(i, each));
  }
  for (const size_t i : {3u, 5u, 7u}) bad.push_back(with(i, large));
  bad.push_back(with(3, "a\nb"));
  bad.push_back({good.begin(), good.end() - 2});
  for (const char* each :
       {"", "1", "1 2 3", "1 2 3 4 5", "1 2 3 65", "1  2 3", "1 2 3 4 ", "a b c d"})
    bad.push_back({"verdicts", "d\nm", "counts", each});
  for (const std::string& each : {std::string("d"), std::string("a\nb\nc"), large + "\nm"})
    bad.push_back({"verdicts", each, "counts", "1 2 3 4"});
  for (const Fields& each : bad)
    EXPECT_FALSE(read_change(each)) << (each.empty() ? "" : each.back());
  EXPECT_TRUE(read_change(good));
  EXPECT_FALSE(fields_of({{large, "", "d"}, 1, 0, {}}, 1));
  EXPECT_FALSE(verdicts_name("d\n", "m"));
}

TEST(LearningChange, has_the_same_age_on_another_machine) {
  const Now now;
  EXPECT_EQ(now.from_ms(now.to_ms(now.steady - seconds(5))), now.steady - seconds(5));
  EXPECT_EQ(now.from_ms(now.to_ms(now.steady) + 1'000'000), now.steady) << "never in the future";
}

}  // namespace
}  // namespace signalbox::shared_learning
