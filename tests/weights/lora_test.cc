// PEFT adapters: the contents of their two files, and their sum with a model's tensors.
// tests/engine/adapter_test.cc covers networks with adapters and rejected files.

#include "weights/lora.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "base/json_writer.h"

namespace signalbox::weights {
namespace {

struct Named {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

std::string file_of(const std::vector<Named>& tensors) {
  json::Writer header;
  std::string data;
  header.begin_object();
  for (const Named& tensor : tensors) {
    const auto begin = static_cast<int64_t>(data.size());
    data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * 4);
    header.key(tensor.name).begin_object().member("dtype", "F32").key("shape").begin_array();
    for (const int64_t extent : tensor.shape) header.integer(extent);
    header.end_array().key("data_offsets").begin_array().integer(begin);
    header.integer(static_cast<int64_t>(data.size())).end_array().end_object();
  }
  const std::string text = header.end_object().take();
  std::string out(8, '\0');
  const uint64_t length = text.size();
  std::memcpy(out.data(), &length, 8);
  return out + text + data;
}

Result<SafeTensors> tensors_of(const std::string& file, const char* name) {
  return SafeTensors::parse(std::as_bytes(std::span(file)), name);
}

class Lora : public testing::Test {
 protected:
  // W is (2, 3), A (1, 3), B (2, 1).
  const std::vector<Named> adapter_ = {
      {"base_model.model.bert.q.lora_A.weight", {1, 3}, {1, 2, 3}},
      {"base_model.model.bert.q.lora_B.weight", {2, 1}, {10, -10}},
      {"base_model.model.classifier.modules_to_save.default.bias", {2}, {7, 8}}};
  const std::string adapter_file_ = file_of(adapter_);
  const kernels::Table& kernels_ = **kernels::table_of("base");

  Result<LoraAdapter> read(const std::string& config) const {
    SIGNALBOX_TRY(const HfConfig parsed, HfConfig::parse(config, "adapter_config.json"));
    SIGNALBOX_TRY(SafeTensors file, tensors_of(adapter_file_, "adapter_model.safetensors"));
    return LoraAdapter::read(parsed, std::move(file));
  }

  // Returns names, shapes and values of the merged model, one per line.
  Result<std::string> merge(const std::vector<Named>& model, const std::string& config) const {
    SIGNALBOX_TRY(const LoraAdapter adapter, read(config));
    const std::string file = file_of(model);
    SIGNALBOX_TRY(SafeTensors tensors, tensors_of(file, "model.safetensors"));
    const TensorList list = std::move(tensors).take();
    SIGNALBOX_TRY(const TensorList merged, merge_lora(list, adapter, kernels_));
    std::string out;
    for (const Tensor& tensor : merged.tensors()) {
      std::vector<float> values(tensor.size());
      widen(tensor, 0, kernels_, values);
      out += fmt::format("{} {}", tensor.name, shape_text(tensor.shape));
      for (const float x : values) out += fmt::format(" {}", x);
      out += '\n';
    }
    return out;
  }
};

constexpr const char* kConfig = R"({"peft_type":"LORA","r":1,"lora_alpha":0.5})";

TEST_F(Lora, is_found_with_and_without_the_trunks_prefix) {
  const auto adapter = read(kConfig);
  ASSERT_TRUE(adapter) << adapter.error().message;
  for (const char* path : {"bert.q", "q", "model.q"}) {
    ASSERT_NE(adapter->layer(path), nullptr) << path;
    EXPECT_EQ(adapter->layer(path)->scale, 0.5f);
  }
  EXPECT_EQ(adapter->layer("bert.k"), nullptr);
  EXPECT_NE(adapter->replacement("classifier.bias"), nullptr);
  EXPECT_EQ(adapter->replacement("classifier.weight"), nullptr);
}

TEST_F(Lora, is_found_in_the_bare_encoder_of_each_family_with_a_head) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"albert.", "encoder.albert_layer_groups.0.albert_layers.0.attention.query"},
      {"bert.", "encoder.layer.0.attention.self.query"},
      {"deberta.", "encoder.layer.0.attention.self.query_proj"},
      {"distilbert.", "transformer.layer.0.attention.q_lin"},
      {"electra.", "encoder.layer.0.attention.self.query"},
      {"model.", "layers.0.attn.Wqkv"},
      {"mpnet.", "encoder.layer.0.attention.attn.q"},
      {"roberta.", "encoder.layer.0.attention.self.query"},
      {"transformer.", "encoder.block.0.layer.0.SelfAttention.q"}};
  for (const auto& [prefix, bare] : kNames) {
    const std::string headed = std::string(prefix) + bare;
    for (const std::string& own : {headed, std::string(bare)}) {
      const std::string file =
          file_of({{"base_model.model." + own + ".lora_A.weight", {1, 3}, {1, 2, 3}},
                   {"base_model.model." + own + ".lora_B.weight", {2, 1}, {1, 1}}});
      const auto config = HfConfig::parse(kConfig, "adapter_config.json");
      const auto adapter = LoraAdapter::read(*config, *tensors_of(file, "adapter_model"));
      ASSERT_TRUE(adapter) << adapter.error().message;
      EXPECT_NE(adapter->layer(headed), nullptr) << own;
      EXPECT_NE(adapter->layer(bare), nullptr) << own;
      EXPECT_EQ(adapter->layer(std::string(bare) + ".other"), nullptr) << own;
    }
  }
}

TEST_F(Lora, merges_changed_tensors_and_adds_missing_ones) {
  const auto merged =
      merge({{"q.weight", {2, 3}, {1, 1, 1, 0, 0, 0}}, {"other", {1}, {5}}}, kConfig);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(*merged, "classifier.bias [2] 7 8\nother [1] 5\nq.weight [2, 3] 6 11 16 -5 -10 -15\n");
}

TEST_F(Lora, replaces_a_head_of_another_size) {
  const auto merged =
      merge({{"bert.q.weight", {2, 3}, {1, 1, 1, 0, 0, 0}}, {"classifier.bias", {3}, {1, 2, 3}}},
            kConfig);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(*merged, "bert.q.weight [2, 3] 6 11 16 -5 -10 -15\nclassifier.bias [2] 7 8\n");
}

TEST_F(Lora, refuses_a_model_that_it_does_not_fit) {
  const auto wider = merge({{"bert.q.weight", {2, 4}, std::vector<float>(8)}}, kConfig);
  ASSERT_FALSE(wider);
  EXPECT_EQ(wider.error().message,
            "adapter_model.safetensors: \"bert.q\" is for a weight of shape [2, 3], the model's is "
            "[2, 4]");
  const auto without = merge({{"bert.k.weight", {2, 3}, std::vector<float>(6)}}, kConfig);
  ASSERT_FALSE(without);
  EXPECT_EQ(
      without.error().message,
      "adapter_model.safetensors: tensor \"base_model.model.bert.q.lora_A.weight\" belongs to a "
      "layer that the model does not have");
}

TEST_F(Lora, takes_rank_and_scale_from_the_first_pattern_that_fits) {
  const auto adapter = read(
      R"({"peft_type":"LORA","r":4,"lora_alpha":3,"use_rslora":true,"rank_pattern":{"bert.q":1},)"
      R"("alpha_pattern":{"ert.q":9,"q":6,"bert.q":7}})");
  ASSERT_TRUE(adapter) << adapter.error().message;
  EXPECT_EQ(adapter->layer("q")->scale, 6.0f);
}

// For any bytes, reading ends with an adapter or an error.
TEST_F(Lora, reading_damaged_bytes_gives_an_error_or_an_adapter) {
  std::mt19937 random(5);
  const std::string config =
      R"({"peft_type":"LORA","r":1,"lora_alpha":0.5,"rank_pattern":{"q":1},"bias":"none",)"
      R"("target_modules":["q"],"layers_to_transform":[0],"modules_to_save":["classifier"]})";
  ASSERT_TRUE(read(config));
  const auto damaged = [&](std::string text) {
    if (random() % 4 == 0) text.resize(random() % text.size());
    for (size_t flips = random() % 4; flips > 0 && !text.empty(); --flips)
      text[random() % text.size()] = "0123456789{}[]\",:.A_\n\0"[random() % 23];
    return text;
  };
  for (int i = 0; i < 4000; ++i) {
    const bool in_config = i % 2 == 0;
    const std::string file = in_config ? adapter_file_ : damaged(adapter_file_);
    const auto parsed =
        HfConfig::parse(in_config ? damaged(config) : config, "adapter_config.json");
    if (!parsed) continue;
    auto tensors = tensors_of(file, "adapter_model.safetensors");
    if (!tensors) continue;
    const auto adapter = LoraAdapter::read(*parsed, *std::move(tensors));
    EXPECT_TRUE(adapter || !adapter.error().message.empty());
  }
}

}  // namespace
}  // namespace signalbox::weights
