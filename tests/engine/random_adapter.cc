// Adds the product of the two matrices independently of the engine's code.

#include "tests/engine/random_adapter.h"

#include <fmt/core.h>

#include <cmath>
#include <fstream>
#include <random>

namespace signalbox::engine {
namespace {

constexpr const char* kWrapper = "base_model.model.";

TestTensor random_tensor(std::vector<int64_t> shape, double scale, std::mt19937& random) {
  std::normal_distribution<float> normal;
  TestTensor out{std::move(shape), {}};
  int64_t size = 1;
  for (const int64_t extent : out.shape) size *= extent;
  for (int64_t i = 0; i < size; ++i)
    out.values.push_back(normal(random) * static_cast<float>(scale));
  return out;
}

void add_product(const TestTensor& a, const TestTensor& b, double scale, TestTensor& w) {
  const int64_t out = w.shape[0], in = w.shape[1], rank = a.shape[0];
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < rank; ++k)
        sum += double{b.values[o * rank + k]} * a.values[k * in + i];
      w.values[o * in + i] = static_cast<float>(w.values[o * in + i] + scale * sum);
    }
  }
}

}  // namespace

RandomAdapter::RandomAdapter(const json::Value& row, const Checkpoint& model, unsigned seed)
    : merged_(model) {
  std::mt19937 random(seed);
  for (const auto& [name, tensor] : model) {
    if (tensor.shape.size() != 2) continue;
    const std::string path = name.substr(0, name.rfind('.'));
    for (const json::Member& target : row.find("targets")->members()) {
      if (!path.ends_with(fmt::format(".{}", target.key)) && path != target.key) continue;
      const int64_t rank = target.value.find("rank")->integer().value();
      const double in = static_cast<double>(tensor.shape[1]);
      const TestTensor a = random_tensor({rank, tensor.shape[1]}, 1 / std::sqrt(in), random);
      const TestTensor b = random_tensor({tensor.shape[0], rank}, 0.2, random);
      add_product(a, b, target.value.find("scale")->number().value(), merged_.at(name));
      const bool named = row.find("named").has_value();
      files_[fmt::format("{}{}.lora_A.{}weight", kWrapper, path, named ? "default." : "")] = a;
      files_[fmt::format("{}{}.lora_B.{}weight", kWrapper, path, named ? "default." : "")] = b;
      break;
    }
  }
  if (const auto saved = row.find("saved")) {
    for (const json::Member& member : saved->members()) {
      std::vector<int64_t> shape;
      for (const json::Value& extent : member.value.items())
        shape.push_back(extent.integer().value());
      const std::string name(member.key);
      const auto spelled = row.find("spelled") ? row.find("spelled")->find(name) : std::nullopt;
      merged_[name] = random_tensor(std::move(shape), 0.3, random);
      files_[spelled ? std::string(spelled->text()) : kWrapper + name] = merged_[name];
    }
  }
  std::ofstream(directory() / "adapter_config.json") << row.find("adapter")->raw();
  write(files_);
}

void RandomAdapter::write(const Checkpoint& files) const {
  write_checkpoint(directory() / "adapter_model.safetensors", files, "F32");
}

}  // namespace signalbox::engine
