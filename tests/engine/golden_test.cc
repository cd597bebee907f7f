// ModernBERT against Hugging Face's own modelling code: hidden states and logits of random
// networks, within 1e-4 of the largest value. Skips, saying so, without the shared material.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "engine/engine.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

const std::filesystem::path kGoldens =
    std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "../shared/goldens";

std::vector<int32_t> ids_of(const weights::Tensor& tensor) {
  std::vector<int32_t> out;
  for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(int64_t)) {
    int64_t id = 0;
    std::memcpy(&id, tensor.bytes.data() + at, sizeof id);
    out.push_back(static_cast<int32_t>(id));
  }
  return out;
}

std::vector<float> floats_of(const weights::Tensor& tensor) {
  std::vector<float> out(tensor.size());
  widen(tensor, 0, *kernels::active_table().value(), out);
  return out;
}

// The largest difference, relative to the largest value.
double difference(const std::vector<float>& expected, const std::vector<float>& found) {
  if (expected.size() != found.size()) return INFINITY;
  double worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(double{expected[i]} - found[i]));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return worst / largest;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, hidden_states_and_logits_are_those_of_hugging_face) {
  const auto directory = kGoldens / GetParam();
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is not there";
  if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
  const auto model = TextModel::open(directory);
  ASSERT_TRUE(model) << model.error().message;
  const auto expected = weights::SafeTensors::open(directory / "expected.safetensors");
  ASSERT_TRUE(expected) << expected.error().message;
  const auto tensor = [&](const std::string& name) {
    const auto found = std::ranges::find(expected->tensors(), name, &weights::Tensor::name);
    EXPECT_NE(found, expected->tensors().end()) << name;
    return *found;
  };
  const size_t cases = expected->tensors().size() / 3;
  for (size_t i = 0; i < cases; ++i) {
    const std::vector<int32_t> ids = ids_of(tensor(fmt::format("{}.input_ids", i)));
    const auto states = (*model)->states(ids);
    ASSERT_TRUE(states) << states.error().message;
    ASSERT_EQ(states->logits.size(), 1u);
    EXPECT_LE(difference(floats_of(tensor(fmt::format("{}.last_hidden_state", i))),
                         states->last_hidden_state),
              1e-4)
        << ids.size() << " tokens";
    EXPECT_LE(difference(floats_of(tensor(fmt::format("{}.logits", i))), states->logits[0]), 1e-4)
        << ids.size() << " tokens";
  }
}

INSTANTIATE_TEST_SUITE_P(ModernBert, Golden,
                         testing::Values("modernbert-seq-cls", "modernbert-seq-mean",
                                         "modernbert-token"),
                         [](const auto& name) {
                           std::string out = name.param;
                           std::ranges::replace(out, '-', '_');
                           return out;
                         });

}  // namespace
}  // namespace signalbox::engine
