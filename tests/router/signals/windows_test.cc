// Tests windows: they cover the whole text, and split nothing that a model should see as a whole.

#include "router/text/windows.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::text {
namespace {

TEST(Windows, a_short_text_is_one_window) {
  EXPECT_EQ(windows_of({"abc"}, 100).pieces, (std::vector<std::string_view>{"abc"}));
  EXPECT_TRUE(windows_of({""}, 100).pieces.empty());
  EXPECT_TRUE(windows_of({""}, 100).whole);
}

TEST(Windows, each_window_names_its_text) {
  const std::string text(150, 'x');
  const Windows found = windows_of({"abc", "", text}, 100);
  EXPECT_EQ(found.of, (std::vector<size_t>{0, 2, 2}));
  EXPECT_EQ(found.pieces.size(), found.of.size());
  const std::string long_text(100'000, 'x');
  const Windows cut = windows_of({"abc", long_text}, 64);
  EXPECT_EQ(cut.pieces.size(), cut.of.size());
}

TEST(Windows, cover_the_text_and_overlap_by_an_eighth) {
  std::string text;
  for (int i = 0; text.size() < 1000; ++i) text += fmt::format("word{} ", i);
  const auto windows = windows_of({text}, 128).pieces;
  size_t covered = 0;
  for (const std::string_view window : windows) {
    const auto begin = static_cast<size_t>(window.data() - text.data());
    ASSERT_LE(window.size(), 128U);
    ASSERT_EQ(begin, covered == 0 ? 0 : covered - 16);
    covered = begin + window.size();
  }
  EXPECT_EQ(covered, text.size());
}

TEST(Windows, windows_end_between_characters) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xE6\xA0\xB9";
  const auto windows = windows_of({text}, 100).pieces;
  for (const std::string_view window : windows) {
    EXPECT_TRUE(utf8::is_valid(window));
    EXPECT_EQ(window.size(), window.data() == windows.back().data() ? window.size() : 99U);
  }
}

TEST(Windows, first_and_last_and_evenly_chosen_windows_remain_of_too_many) {
  const std::string text(100'000, 'x');
  const Windows found = windows_of({text}, 64);
  EXPECT_FALSE(found.whole);
  const auto& windows = found.pieces;
  ASSERT_EQ(windows.size(), kWindowsMax);
  EXPECT_EQ(windows.front().data(), text.data());
  EXPECT_EQ(windows.back().data() + windows.back().size(), text.data() + text.size());
  for (size_t i = 1; i < windows.size(); ++i) {
    const auto step = windows[i].data() - windows[i - 1].data();
    EXPECT_NEAR(static_cast<double>(step), 100'000.0 / (kWindowsMax - 1), 120) << i;
  }
}

TEST(Windows, bytes_that_are_not_characters_do_not_hang) {
  const std::string text(1000, '\x80');
  size_t total = 0;
  for (const std::string_view window : windows_of({text}, 64).pieces) total += window.size();
  EXPECT_GE(total, 64U);
}

TEST(Windows, fit_a_model_whose_tokens_are_bytes) {
  const test::FakeClassifier model({"a", "b"}, engine::HeadKind::kSequence, false);
  const std::string text(3000, '.');
  size_t covered = 0;
  const auto windows = windows_of({text}, model);
  ASSERT_TRUE(windows);
  for (const std::string_view window : windows->pieces) {
    const auto tokens = model.tokens({.text = window});
    ASSERT_TRUE(tokens);
    EXPECT_LE(*tokens, kWindowTokens);
    EXPECT_LE(window.data(), text.data() + covered);
    covered = static_cast<size_t>(window.data() - text.data()) + window.size();
  }
  EXPECT_EQ(covered, text.size());
}

TEST(Windows, windows_of_many_texts_are_bounded_by_their_cost) {
  const auto of = [](size_t count, size_t bytes) {
    static std::vector<std::string> texts;
    texts.assign(count, std::string(bytes, 'x'));
    std::vector<std::string_view> views{""};
    views.insert(views.end(), texts.begin(), texts.end());
    return windows_of(views, 64);
  };
  const Windows full = of(kWindowsMax, 64);
  EXPECT_TRUE(full.whole);
  EXPECT_EQ(full.pieces.size(), kWindowsMax);
  EXPECT_FALSE(of(kWindowsMax + 1, 64).whole);
  const Windows tiny = of(16 * kWindowsMax, 1);
  EXPECT_TRUE(tiny.whole);
  EXPECT_EQ(tiny.pieces.size(), 16 * kWindowsMax);
  EXPECT_FALSE(of(16 * kWindowsMax + 1, 1).whole);
  // Two windows per text: the first windows of the newest texts are kept, in order.
  const Windows two = of(200, 100);
  EXPECT_FALSE(two.whole);
  EXPECT_EQ(two.pieces[0].size(), 64U);
  EXPECT_EQ(two.pieces[1].data() + two.pieces[1].size(), two.pieces[0].data() + 100);
}

}  // namespace
}  // namespace signalbox::text
