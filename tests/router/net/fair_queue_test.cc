// The order of waiting work, as stories: letters are pieces of work of clients, and capital letters
// are long ones.

#include "router/http/fair_queue.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::http {
namespace {

class Story {
 public:
  Story(size_t threads, size_t waiting_max) : queue_(threads, waiting_max) {}

  /// Pushes one piece for each letter. Returns the letters that are refused.
  std::string push(std::string_view letters) {
    std::string refused;
    for (const char letter : letters) {
      const Share share{static_cast<uint64_t>(std::tolower(letter)), std::isupper(letter) != 0};
      if (!queue_.push([this, letter] { done_ += letter; }, share)) refused += letter;
    }
    return refused;
  }

  /// Starts all that may run now and returns it.
  std::string start() {
    done_.clear();
    while (auto taken = queue_.take()) {
      taken->work();
      running_.push_back(taken->share);
    }
    return done_;
  }

  /// Starts at most one piece.
  std::string start_one() {
    done_.clear();
    if (auto taken = queue_.take()) {
      taken->work();
      running_.push_back(taken->share);
    }
    return done_;
  }

  void finish_all() {
    for (const Share& share : running_) queue_.finish(share);
    running_.clear();
  }

 private:
  FairQueue queue_;
  std::string done_;
  std::vector<Share> running_;
};

TEST(FairQueue, keeps_the_order_of_one_client) {
  Story story(4, 10);
  story.push("aaa");
  EXPECT_EQ(story.start(), "aaa");
}

TEST(FairQueue, lets_clients_take_turns) {
  Story story(4, 20);
  story.push("aaaabbc");
  EXPECT_EQ(story.start(), "abcabaa");
}

TEST(FairQueue, takes_short_work_first_once_long_work_runs) {
  Story story(8, 20);
  story.push("AABBcc");
  EXPECT_EQ(story.start_one(), "A") << "some long work always runs";
  EXPECT_EQ(story.start(), "ccBAB");
}

TEST(FairQueue, leaves_half_of_the_threads_to_short_work_and_a_quarter_to_other_clients) {
  Story story(8, 100);
  story.push("AAAAAABBBB");
  EXPECT_EQ(story.start(), "ABAB") << "four of eight threads, two a client";
  EXPECT_EQ(story.start(), "");
  story.push("c");
  EXPECT_EQ(story.start(), "c");
  story.finish_all();
  EXPECT_EQ(story.start(), "ABAB");
}

TEST(FairQueue, refuses_work_that_would_leave_others_no_room) {
  Story story(1, 8);
  EXPECT_EQ(story.push("aaaaaaaa"), "aaa") << "a client may hold as much as it leaves free";
  EXPECT_EQ(story.push("bbbb"), "bb");
  EXPECT_EQ(story.push("cc"), "c");
}

TEST(FairQueue, works_with_one_thread) {
  Story story(1, 8);
  story.push("Ab");
  EXPECT_EQ(story.start(), "Ab");
}

}  // namespace
}  // namespace signalbox::http
