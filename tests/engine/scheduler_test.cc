// The scheduler's public behaviour: batching, rejected requests, cancelled and expired requests.
// One model blocks its batches until the test releases them; real models test bit-equal results.

#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "tests/engine/pass_threads.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

// A text's embedding is its length, and it has one token per byte. While the gate is shut, batches
// wait in front of it.
class GatedModel final : public TextModel {
 public:
  int32_t dim() const override { return 1; }
  int32_t hidden() const override { return 1; }
  int32_t layers() const override { return 4; }
  int32_t vocabulary() const override { return 1; }
  int32_t tokens_max() const override { return 100; }
  double multiply_adds(int32_t) const override { return 0; }
  std::span<const HeadInfo> heads() const override { return heads_; }
  Result<int32_t> tokens(const Input& input) const override {
    if (input.text.empty()) return fail(Code::kInvalid, "no tokens");
    return static_cast<int32_t>(std::min<size_t>(input.text.size(), 100));
  }
  Result<bool> is_cut(const Input& input) const override { return input.text.size() > 100; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed(texts, {}, out);
  }
  Result<void> embed(std::span<const std::string_view> texts, const EmbedOptions& options,
                     std::span<float> out) const override {
    pass({texts.begin(), texts.end()});
    if (options.layers > layers()) return fail(Code::kInvalid, "too many layers");
    for (size_t i = 0; i < texts.size(); ++i) out[i] = static_cast<float>(texts[i].size());
    return {};
  }
  Result<std::vector<Answer>> answer(std::span<const Input> inputs) const override {
    Texts texts;
    std::vector<Answer> out;
    for (const Input& input : inputs) {
      const bool pair = input.marked == Marked::kPair;
      texts.push_back(fmt::format("{}{}", pair ? *input.pair : input.text, pair ? '!' : '?'));
      out.push_back({{static_cast<float>(input.text.size())}, {}});
    }
    pass(std::move(texts));
    return out;
  }
  Result<States> states(std::span<const int32_t>, std::span<const uint8_t>,
                        int32_t) const override {
    return States{};
  }
  Result<std::vector<int32_t>> encode(std::string_view) const override {
    return std::vector<int32_t>{};
  }
  Result<std::vector<std::string_view>> windows(std::string_view text, int32_t,
                                                int32_t) const override {
    return std::vector{text};
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Waits until `count` batches have reached the gate.
  void wait_for(size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
  }
  std::vector<Texts> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  void pass(Texts texts) const {
    std::unique_lock lock(mutex_);
    batches_.push_back(std::move(texts));
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }

  const std::vector<HeadInfo> heads_{HeadInfo{.name = "length", .labels = {"bytes"}}};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<Texts> batches_;
  bool open_ = false;
};

std::unique_ptr<Scheduler> scheduler_of(const TextModel& model,
                                        const SchedulerOptions& options = {}) {
  auto made = Scheduler::create(model, options);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(made).value_or(nullptr);
}

// Keeps the only worker at the gate with its own text.
struct Held {
  explicit Held(const SchedulerOptions& options = {})
      : scheduler(scheduler_of(model, options)), first(scheduler->embed("held", {})) {
    model.wait_for(1);
  }
  ~Held() { model.open(); }

  GatedModel model;
  std::unique_ptr<Scheduler> scheduler;
  std::future<Result<Scheduler::Embedding>> first;
};

template <class Future>
Error error_of(Future future) {
  const auto result = future.get();
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

TEST(Scheduler, fills_a_batch_with_the_oldest_requests_up_to_its_tokens) {
  Held held({.batch_tokens = 10});
  std::vector<std::future<Result<Scheduler::Embedding>>> futures;
  for (const char* text : {"four", "a long text alone", "seven77", "six666", "3"})
    futures.push_back(held.scheduler->embed(text, {}));
  EXPECT_EQ(held.scheduler->load(), (SchedulerLoad{5, 35, 35}));
  held.model.open();
  EXPECT_EQ(held.first.get().value(), std::vector<float>{4});
  const std::vector<float> lengths{4, 17, 7, 6, 1};
  for (size_t i = 0; i < lengths.size(); ++i)
    EXPECT_EQ(futures[i].get().value(), std::vector<float>{lengths[i]});
  EXPECT_EQ(
      held.model.batches(),
      (std::vector<Texts>{{"held"}, {"four", "six666"}, {"a long text alone"}, {"seven77", "3"}}));
  EXPECT_EQ(held.scheduler->load(), SchedulerLoad{});
}

// Clients take turns token by token, and a short request comes before the rest of a long one.
TEST(Scheduler, serves_clients_evenly) {
  Held held({.batch_tokens = 10});
  const auto submit = [&](std::string_view text, uint64_t client, bool is_long) {
    Patience patience;
    patience.client = client;
    patience.is_long = is_long;
    return held.scheduler->embed(text, {}, patience);
  };
  std::vector<std::future<Result<Scheduler::Embedding>>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(submit("aaaaaaaa", 1, true));
  for (int i = 0; i < 2; ++i) futures.push_back(submit("bbbbbbbb", 2, true));
  futures.push_back(submit("aa", 1, false));
  futures.push_back(submit("c", 3, false));
  held.model.open();
  for (auto& future : futures) EXPECT_TRUE(future.get());
  EXPECT_EQ(held.model.batches(), (std::vector<Texts>{{"held"},
                                                      {"c", "aa"},
                                                      {"aaaaaaaa"},
                                                      {"bbbbbbbb"},
                                                      {"aaaaaaaa"},
                                                      {"bbbbbbbb"},
                                                      {"aaaaaaaa"},
                                                      {"aaaaaaaa"}}));
}

TEST(Scheduler, runs_fewer_tokens_of_long_requests_together) {
  Held held({.batch_tokens = 10, .long_batch_tokens = 4});
  const auto submit = [&](std::string_view text, bool is_long) {
    Patience patience;
    patience.is_long = is_long;
    return held.scheduler->embed(text, {}, patience);
  };
  std::vector<std::future<Result<Scheduler::Embedding>>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(submit("aa", true));
  for (int i = 0; i < 4; ++i) futures.push_back(submit("bb", false));
  held.model.open();
  for (auto& future : futures) EXPECT_TRUE(future.get());
  std::vector<Texts> batches = held.model.batches();
  std::ranges::sort(batches);
  EXPECT_EQ(batches,
            (std::vector<Texts>{{"aa", "aa"}, {"aa", "aa"}, {"bb", "bb", "bb", "bb"}, {"held"}}));
}

TEST(Scheduler, passes_the_marked_text_of_an_input_to_the_model) {
  Held held;
  auto text = held.scheduler->answer({"text", "pair"});
  auto pair = held.scheduler->answer({"text", "pair", kNoAdapter, Marked::kPair});
  held.model.open();
  EXPECT_TRUE(text.get());
  EXPECT_TRUE(pair.get());
  EXPECT_EQ(held.model.batches(), (std::vector<Texts>{{"held"}, {"text?", "pair!"}}));
}

TEST(Scheduler, mixes_neither_kinds_of_request_nor_options) {
  Held held;
  const auto a = held.scheduler->embed("a", {}), b = held.scheduler->embed("b", {.layers = 2});
  auto c = held.scheduler->answer({"c", {}}), d = held.scheduler->answer({"dd", "pair"});
  const auto e = held.scheduler->embed("e", {}), f = held.scheduler->embed("f", {.layers = 2});
  held.model.open();
  EXPECT_EQ(c.get().value().at(0).scores, std::vector<float>{1});
  EXPECT_EQ(d.get().value().at(0).scores, std::vector<float>{2});
  held.scheduler->embed("last", {}).wait();
  EXPECT_EQ(held.model.batches(),
            (std::vector<Texts>{{"held"}, {"a", "e"}, {"b", "f"}, {"c?", "dd?"}, {"last"}}));
}

TEST(Scheduler, a_full_queue_refuses_at_once_and_names_its_limit) {
  const struct {
    SchedulerOptions options;
    const char* message;
  } cases[] = {
      {{.requests_max = 2}, "the queue is full: its limit is 2 requests"},
      {{.tokens_max = 100}, "the queue is full: its limit is 100 tokens"},
      {{.bytes_max = 170}, "the queue is full: its limit is 170 bytes of text"},
  };
  for (const auto& [options, message] : cases) {
    Held held(options);
    const auto a = held.scheduler->embed(std::string(120, 'a'), {});
    const auto b = held.scheduler->embed("b", {});  // in the second case one token too many
    bool called = false;
    const auto refused =
        held.scheduler->embed(std::string(60, 'c'), {}, {}, [&](const auto&) { called = true; });
    ASSERT_FALSE(refused) << message;
    EXPECT_EQ(refused.error().code, Code::kOverloaded);
    EXPECT_EQ(refused.error().message, message);
    EXPECT_FALSE(called);
    EXPECT_EQ(error_of(held.scheduler->answer({std::string(60, 'c'), {}})).message, message);
  }
}

TEST(Scheduler, a_text_that_no_queue_would_hold_is_too_large) {
  GatedModel model;
  const auto scheduler = scheduler_of(model, {.bytes_max = 10});
  const Error error = error_of(scheduler->embed("eleven bytes", {}));
  EXPECT_EQ(error.code, Code::kTooLarge);
  EXPECT_EQ(error.message, "a text of 12 bytes, the queue takes at most 10");
}

TEST(Scheduler, reports_a_passed_deadline_while_the_workers_are_busy) {
  Held held;
  const auto now = std::chrono::steady_clock::now();
  auto late = held.scheduler->embed("late", {}, {.deadline = now + 20ms});
  auto sooner = held.scheduler->embed("sooner", {}, {.deadline = now + 10ms});
  auto patient = held.scheduler->embed("patient", {}, {.deadline = now + 1h});
  const Error error = error_of(std::move(late));  // the gate is still shut
  EXPECT_EQ(error.code, Code::kDeadline);
  EXPECT_EQ(error.message, "the deadline passed before the request could run");
  EXPECT_EQ(error_of(std::move(sooner)).code, Code::kDeadline);
  EXPECT_EQ(error_of(held.scheduler->embed("past", {}, {.deadline = now})).code, Code::kDeadline);
  held.model.open();
  EXPECT_TRUE(patient.get());
  EXPECT_EQ(held.model.batches(), (std::vector<Texts>{{"held"}, {"patient"}}));
}

TEST(Scheduler, a_cancelled_request_ends_at_once_and_never_runs) {
  Held held({.requests_max = 2});
  std::stop_source stop, other;
  auto a = held.scheduler->embed("a", {}, {.stop = stop.get_token()});
  auto b = held.scheduler->answer({"b", {}}, {.stop = other.get_token()});
  EXPECT_EQ(error_of(held.scheduler->embed("full", {})).code, Code::kOverloaded);
  stop.request_stop();
  EXPECT_EQ(error_of(std::move(a)).code, Code::kCancelled);
  auto c = held.scheduler->embed("c", {}, {.stop = other.get_token()});  // takes a's place
  EXPECT_EQ(error_of(held.scheduler->embed("d", {}, {.stop = stop.get_token()})).code,
            Code::kCancelled);
  held.model.open();
  EXPECT_TRUE(b.get());
  EXPECT_TRUE(c.get());
  other.request_stop();  // after completion this has no effect
  EXPECT_EQ(held.model.batches(), (std::vector<Texts>{{"held"}, {"b?"}, {"c"}}));
}

TEST(Scheduler, closing_finishes_running_requests_and_fails_waiting_ones) {
  Held held;
  auto a = held.scheduler->embed("a", {});
  auto b = held.scheduler->answer({"b", {}}, {.deadline = std::chrono::steady_clock::now() + 1h});
  std::thread closing([&] { held.scheduler.reset(); });
  const Error error = error_of(std::move(a));  // before the batch has ended
  EXPECT_EQ(error.code, Code::kCancelled);
  EXPECT_EQ(error.message, "the scheduler was closed");
  EXPECT_EQ(error_of(std::move(b)).code, Code::kCancelled);
  held.model.open();
  closing.join();
  EXPECT_EQ(held.first.get().value(), std::vector<float>{4});
  EXPECT_EQ(held.model.batches().size(), 1u);
}

TEST(Scheduler, a_completion_may_submit_also_while_the_scheduler_closes) {
  GatedModel model;
  model.open();
  std::promise<float> nested;
  auto scheduler = scheduler_of(model);
  ASSERT_TRUE(scheduler->embed("outer", {}, {}, [&](const Result<Scheduler::Embedding>&) {
    ASSERT_TRUE(scheduler->answer({"in", {}}, {}, [&](const Result<Scheduler::Answers>& inner) {
      nested.set_value(inner->at(0).scores.at(0));
    }));
  }));
  EXPECT_EQ(nested.get_future().get(), 2);

  Held held;
  Code code = Code::kInternal;
  Scheduler* raw = held.scheduler.get();
  ASSERT_TRUE(raw->embed("a", {}, {}, [&](const Result<Scheduler::Embedding>& result) {
    EXPECT_FALSE(result);
    code = error_of(raw->embed("b", {})).code;
    held.model.open();
  }));
  held.scheduler.reset();
  EXPECT_EQ(code, Code::kCancelled);
}

TEST(Scheduler, passes_the_models_errors_on) {
  GatedModel model;
  model.open();
  const auto scheduler = scheduler_of(model);
  EXPECT_EQ(error_of(scheduler->embed("a", {.layers = 5})).message, "too many layers");
  EXPECT_EQ(error_of(scheduler->embed("", {})).message, "no tokens");
}

TEST(Scheduler, refuses_options_out_of_range_by_name) {
  const GatedModel model;
  EXPECT_EQ(Scheduler::create(model, {.workers = 0}).error().message,
            "scheduler: workers 0, expected 1 to 256");
  EXPECT_EQ(Scheduler::create(model, {.batch_tokens = 0}).error().code, Code::kInvalid);
  EXPECT_EQ(Scheduler::create(model, {.long_batch_tokens = 0}).error().code, Code::kInvalid);
  EXPECT_EQ(Scheduler::create(model, {.requests_max = -1}).error().code, Code::kInvalid);
  EXPECT_EQ(Scheduler::create(model, {.tokens_max = 99}).error().code, Code::kInvalid);
  EXPECT_EQ(Scheduler::create(model, {.bytes_max = 0}).error().code, Code::kInvalid);
}

TEST(Scheduler, completes_each_accepted_request_once_whatever_happens) {
  GatedModel model;
  model.open();
  auto scheduler = scheduler_of(model, {.workers = 3, .batch_tokens = 8, .requests_max = 16});
  std::atomic<int> accepted = 0, completed = 0, refused = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 500; ++i) {
        std::stop_source stop;
        Patience patience{.stop = stop.get_token()};
        if (random() % 3 == 0) {
          patience.deadline =
              std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 200);
        }
        const auto done = [&completed](const auto&) { ++completed; };
        const std::string text(1 + random() % 6, 'x');
        const bool entered = random() % 2 == 0 ? !!scheduler->embed(text, {}, patience, done)
                                               : !!scheduler->answer({text, {}}, patience, done);
        ++(entered ? accepted : refused);
        if (random() % 3 == 0) stop.request_stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  scheduler.reset();
  EXPECT_EQ(completed, accepted);
  EXPECT_EQ(accepted + refused, 2000);
  EXPECT_GT(accepted, 0);
}

// Returns texts of 1 to 40 words from a fixed generator.
Texts random_texts(size_t count) {
  std::mt19937 random(7);
  Texts out(count);
  for (std::string& text : out) {
    for (size_t words = 1 + random() % 40; words > 0; --words)
      text += fmt::format("{}{} ", static_cast<char>('a' + random() % 26), random() % 2 ? "b" : "");
  }
  return out;
}

bool operator==(const Entity& a, const Entity& b) {
  return a.type == b.type && a.begin == b.begin && a.end == b.end && a.score == b.score;
}

TEST(Scheduler, many_threads_get_the_bits_of_single_calls_on_one_thread) {
  const auto config = [](std::string_view architecture) {
    return fmt::format("{{{}}}", small_modern_bert(architecture, 2));
  };
  const RandomNetwork classifier(config("ModernBertForSequenceClassification"), true);
  const RandomNetwork tagger(config("ModernBertForTokenClassification"), true);
  const auto opened = TextModel::open(classifier.directory(), {.heads = {tagger.directory()}});
  ASSERT_TRUE(opened) << opened.error().message;
  const TextModel& model = **opened;
  const auto shared = TextModel::open(classifier.directory(),
                                      {.threads = kPassThreads, .heads = {tagger.directory()}});
  ASSERT_TRUE(shared) << shared.error().message;
  const Texts texts = random_texts(24);
  std::vector<std::vector<float>> vectors;
  std::vector<std::vector<Answer>> answers;
  for (const std::string_view text : texts) {
    vectors.emplace_back(model.dim());
    ASSERT_TRUE(model.embed({&text, 1}, vectors.back()));
    const Input input{text, {}};
    answers.push_back(model.answer({&input, 1}).value());
  }
  for (const int32_t batch_tokens : {1, 60, 512}) {
    const auto scheduler = scheduler_of(**shared, {.workers = 3, .batch_tokens = batch_tokens});
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::vector<std::future<Result<Scheduler::Embedding>>> embeddings;
        std::vector<std::future<Result<Scheduler::Answers>>> answered;
        for (size_t i = 0; i < texts.size(); ++i) {
          const std::string& text = texts[(i + t * 5) % texts.size()];
          embeddings.push_back(scheduler->embed(text, {}));
          answered.push_back(scheduler->answer({text, {}}));
        }
        for (size_t i = 0; i < texts.size(); ++i) {
          const size_t at = (i + t * 5) % texts.size();
          EXPECT_EQ(embeddings[i].get().value(), vectors[at]);
          const auto found = answered[i].get().value();
          ASSERT_EQ(found.size(), 2u);
          EXPECT_EQ(found[0].scores, answers[at][0].scores);
          EXPECT_TRUE(std::ranges::equal(found[1].entities, answers[at][1].entities,
                                         [](const auto& a, const auto& b) { return a == b; }));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // A request that the model rejects does not affect others in its batch.
  EXPECT_EQ(error_of(scheduler_of(model)->answer({"a", {}, 7})).message,
            "adapter 7, the model has 0");
}

}  // namespace
}  // namespace signalbox::engine
