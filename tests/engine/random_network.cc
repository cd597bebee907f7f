// Scales weights so that activations stay near one through the layers.

#include "tests/engine/random_network.h"

#include <cmath>
#include <fstream>
#include <random>

namespace signalbox::engine {

RandomNetwork::RandomNetwork(std::string_view config, bool tokenizer, const std::string& dtype)
    : config_(json::Document::parse(std::string(config)).value()), dtype_(dtype) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const auto& [name, shape] : reference_shapes(config_.root())) {
    TestTensor& tensor = tensors_[name];
    tensor.shape = shape;
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    const bool table = name.find("embeddings.weight") != std::string::npos;
    const bool gamma = shape.size() == 1 && name.ends_with("weight");
    const bool vector = shape.size() == 1;
    const float scale = vector || table ? 0.3f : 1 / std::sqrt(static_cast<float>(shape[1]));
    for (int64_t i = 0; i < size; ++i)
      tensor.values.push_back(coarse(normal(random) * scale + (gamma ? 1.0f : 0.0f)));
  }
  std::ofstream(directory() / "config.json") << config;
  write(tensors_);
  if (tokenizer) write_letter_tokenizer(directory() / "tokenizer.json", vocabulary());
}

void RandomNetwork::write(const Checkpoint& tensors) const {
  write_checkpoint(directory() / "model.safetensors", tensors, dtype_);
}

int32_t RandomNetwork::vocabulary() const {
  return static_cast<int32_t>(config_.root().find("vocab_size")->integer().value());
}

std::vector<int32_t> RandomNetwork::ids(int32_t count) const {
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<int32_t> out;
  for (int32_t i = 0; i < count; ++i)
    out.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(vocabulary())));
  return out;
}

std::string merge_objects(const json::Value& own, const json::Value& defaults) {
  std::string out;
  const auto add = [&](const json::Member& member) {
    out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", member.key, member.value.raw());
  };
  for (const json::Member& member : own.members()) add(member);
  for (const json::Member& member : defaults.members()) {
    if (!own.find(member.key)) add(member);
  }
  return "{" + out + "}";
}

std::string small_modern_bert(std::string_view architecture, int32_t layers) {
  return fmt::format(
      R"("model_type":"modernbert","architectures":["{}"],"vocab_size":56,"hidden_size":48,)"
      R"("intermediate_size":40,"num_hidden_layers":{},"num_attention_heads":3,)"
      R"("local_attention":8,"max_position_embeddings":600,"num_labels":5)",
      architecture, layers);
}

}  // namespace signalbox::engine
