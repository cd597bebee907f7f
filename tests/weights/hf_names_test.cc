// Names that depend only on the wrapper or the age of a model.

#include "weights/hf_names.h"

#include <gtest/gtest.h>

namespace signalbox::weights {
namespace {

TEST(HfNames, remove_wrappers_and_outdated_words) {
  const std::pair<const char*, const char*> cases[] = {
      {"module.bert.encoder.layer.0.output.dense.weight",
       "bert.encoder.layer.0.output.dense.weight"},
      {"0.auto_model.embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight"},
      {"auto_model.pooler.dense.bias", "pooler.dense.bias"},
      {"bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"},
      {"encoder.layer.1.output.LayerNorm.beta", "encoder.layer.1.output.LayerNorm.bias"},
      {"model.layers.0.attn.Wo.weight", "model.layers.0.attn.Wo.weight"},
      {"head.gamma", "head.gamma"}};
  for (const auto& [from, to] : cases) {
    TensorList list;
    ASSERT_TRUE(list.add(from, Dtype::kU8, {0}, std::vector<std::byte>()));
    ASSERT_TRUE(to_hf_names(list));
    EXPECT_EQ(list.tensors()[0].name, to);
  }
}

TEST(HfNames, refuse_two_tensors_of_one_name) {
  TensorList list;
  ASSERT_TRUE(list.add("x.LayerNorm.gamma", Dtype::kU8, {0}, std::vector<std::byte>()));
  ASSERT_TRUE(list.add("x.LayerNorm.weight", Dtype::kU8, {0}, std::vector<std::byte>()));
  EXPECT_EQ(to_hf_names(list).error().message, "tensor \"x.LayerNorm.weight\" appears twice");
}

}  // namespace
}  // namespace signalbox::weights
