// Threads share a model of the C interface. The thread sanitizer runs this test.

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/signalbox.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

constexpr const char* kText = "a text that threads share";

// The results of one thread.
struct Found {
  std::vector<float> vector;
  std::vector<float> scores;
  std::string error;
};

// Embeds and scores a text. Then it fails with `wrong` as the size of the output.
Found use(const signalbox_model* model, size_t wrong) {
  Found out;
  const signalbox_text text{kText, std::strlen(kText), 0};
  out.vector.resize(static_cast<size_t>(signalbox_dim(model)));
  EXPECT_EQ(signalbox_embed(model, &text, 1, nullptr, out.vector.data(), out.vector.size()),
            SIGNALBOX_OK);
  signalbox_answers* answers = nullptr;
  EXPECT_EQ(signalbox_answer(model, &text, nullptr, 1, &answers), SIGNALBOX_OK);
  size_t count = 0;
  if (const float* scores = signalbox_scores(answers, 0, 0, &count))
    out.scores.assign(scores, scores + count);
  signalbox_answers_free(answers);
  EXPECT_EQ(signalbox_embed(model, &text, 1, nullptr, out.vector.data(), wrong), SIGNALBOX_INVALID);
  out.error = signalbox_last_error();
  return out;
}

TEST(CApiThreads, share_a_model_and_keep_their_own_errors) {
  const RandomNetwork network(
      fmt::format("{{{}}}", small_modern_bert("ModernBertForSequenceClassification")), true);
  signalbox_model* model = nullptr;
  ASSERT_EQ(signalbox_open(network.directory().c_str(), nullptr, &model), SIGNALBOX_OK)
      << signalbox_last_error();
  const Found alone = use(model, 1);
  EXPECT_FALSE(alone.scores.empty());
  std::vector<std::thread> threads;
  for (size_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&alone, model, t] {
      for (int i = 0; i < 10; ++i) {
        const Found found = use(model, t);
        EXPECT_EQ(found.vector, alone.vector);
        EXPECT_EQ(found.scores, alone.scores);
        EXPECT_EQ(found.error.substr(0, 11), fmt::format("out_size {},", t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  signalbox_close(model);
}

}  // namespace
}  // namespace signalbox::engine
