// A model with a queue gives the same answers as without. Requests that arrive while it is busy run
// together.

#include "engine/served_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/router/fake_classifier.h"

namespace signalbox::engine {
namespace {

const std::vector<std::string> kLabels{"x", "y"};
constexpr std::chrono::seconds kPatience{60};

// Counts its passes, which block while the gate is shut, and notes their texts.
class Gated : public test::FakeClassifier {
 public:
  Gated() : test::FakeClassifier(kLabels, HeadKind::kSequence, false) {}

  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    {
      std::unique_lock lock(mutex_);
      ++passes_;
      for (const Input& input : inputs) texts_.emplace_back(input.text);
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    }
    return test::FakeClassifier::answer(inputs);
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for_a_pass() const {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return passes_ > 0; }));
  }
  int passes() const {
    const std::lock_guard lock(mutex_);
    return passes_;
  }
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int passes_ = 0;
  mutable std::vector<std::string> texts_;
  bool open_ = false;
};

std::vector<float> scores_of(const TextModel& model, std::string_view text) {
  const Input input{.text = text};
  const auto answers = model.answer({&input, 1});
  return answers ? answers->front().scores : std::vector<float>{};
}

void wait_for_queue(const TextModel& model, int32_t requests) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (load_of(model)->requests < requests && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(load_of(model)->requests, requests);
}

TEST(ServedModel, answers_like_the_model_itself) {
  const auto bare = std::make_shared<test::FakeClassifier>(kLabels, HeadKind::kSequence, false);
  const auto served = serve(bare, {});
  ASSERT_TRUE(served) << served.error().message;
  const TextModel& model = **served;
  EXPECT_EQ(model.heads()[0].labels, kLabels);
  EXPECT_EQ(model.tokens_max(), bare->tokens_max());
  EXPECT_EQ(scores_of(model, "an x"), scores_of(*bare, "an x"));
  const Input inputs[] = {{.text = "x"}, {.text = "y"}};
  const auto both = model.answer(inputs);
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)[1].scores, scores_of(*bare, "y"));
  const std::string_view text = "x";
  std::vector<float> vector(1);
  const auto embedded = model.embed({&text, 1}, vector);
  ASSERT_FALSE(embedded);
  EXPECT_EQ(embedded.error().message, "a fake embeds nothing");
}

TEST(ServedModel, batches_requests_that_wait_together) {
  const auto gated = std::make_shared<Gated>();
  const auto served = serve(gated, {.workers = 1});
  ASSERT_TRUE(served);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  const auto ask = [&](std::string_view text) {
    threads.emplace_back([&, text] { wrong += scores_of(**served, text).size() != 2; });
  };
  ask("x");
  gated->wait_for_a_pass();
  for (int i = 0; i < 8; ++i) ask(i % 2 == 0 ? "x" : "y");
  wait_for_queue(**served, 8);
  gated->open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(gated->passes(), 5);
}

TEST(ServedModel, runs_other_requests_between_the_texts_of_a_long_one) {
  const auto gated = std::make_shared<Gated>();
  const auto served = serve(gated, {.workers = 1, .batch_tokens = 1});
  ASSERT_TRUE(served);
  const std::vector<Input> many(50, Input{.text = "x"});
  std::thread greedy([&] {
    const auto answers = (*served)->answer_within({}, many);
    EXPECT_TRUE(answers && answers->size() == many.size());
  });
  gated->wait_for_a_pass();
  wait_for_queue(**served, 7);  // eight of its texts are submitted at a time, and one of them runs
  std::thread other([&] { EXPECT_EQ(scores_of(**served, "y").size(), 2U); });
  wait_for_queue(**served, 8);
  gated->open();
  greedy.join();
  other.join();
  const std::vector<std::string> texts = gated->texts();
  ASSERT_EQ(texts.size(), 51U);
  EXPECT_EQ(texts[8], "y") << "one text waited for fifty";
}

TEST(ServedModel, gives_many_texts_the_answers_of_each) {
  const auto bare = std::make_shared<test::FakeClassifier>(kLabels, HeadKind::kSequence, false);
  const auto served = serve(bare, {.requests_max = 1});
  ASSERT_TRUE(served);
  std::vector<Input> inputs;
  for (int i = 0; i < 30; ++i) inputs.push_back({.text = i % 3 == 0 ? "x" : "y"});
  const auto answers = (*served)->answer_within({}, inputs);
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ((*answers)[i].scores, scores_of(*bare, inputs[i].text)) << i;
}

TEST(ServedModel, drops_the_waiting_texts_of_a_request_at_its_deadline) {
  const auto gated = std::make_shared<Gated>();
  const auto served = serve(gated, {.workers = 1});
  ASSERT_TRUE(served);
  std::thread first([&] { EXPECT_EQ(scores_of(**served, "x").size(), 2U); });
  gated->wait_for_a_pass();
  const std::vector<Input> inputs(3, Input{.text = "y"});
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const auto late = (*served)->answer_within({.deadline = soon}, inputs);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadline);
  std::stop_source gone;
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gone.request_stop();
  });
  const auto stopped = (*served)->answer_within({.stop = gone.get_token()}, inputs);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  leaver.join();
  gated->open();
  first.join();
}

TEST(ServedModel, refuses_options_out_of_range) {
  const auto bare = std::make_shared<test::FakeClassifier>(kLabels, HeadKind::kSequence, false);
  const auto served = serve(bare, {.workers = 0});
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace signalbox::engine
