#pragma once
// A low-rank adapter as PEFT writes it (adapter_config.json, adapter_model.safetensors): for some
// linear layers two small matrices whose product is added to the weight, and tensors that replace
// the model's (a classifier, biases).
//
//   W' = W + scale B A,  scale = lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora
//
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021; Kalajdzievski, "A Rank
// Stabilization Scaling Factor for Fine-Tuning with LoRA", 2023. The layers are those that the
// weights file names: `target_modules` is checked where it is a list, and not evaluated where it is
// a regular expression.

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

struct LoraLayer {
  std::string path;  // of the layer in the model: "bert.encoder.layer.0.attention.self.query"
  Tensor a;          // (rank, in), F32, F16 or BF16
  Tensor b;          // (out, rank), the same
  float scale = 1;

  int64_t rank() const { return a.shape[0]; }
  int64_t in() const { return a.shape[1]; }
  int64_t out() const { return b.shape[0]; }
};

/// Immutable, thread-safe. Models with a head put "bert.", "roberta." or "model." in front of their
/// trunk's names and bare ones do not: lookups see no difference.
class LoraAdapter {
 public:
  /// Errors name the file, and in it the key or the tensor: kNotFound, kIo, kCorrupt, kUnsupported
  /// for what changes the mathematics and is not built (DoRA, adapters of embeddings).
  static Result<LoraAdapter> open(const std::filesystem::path& directory);
  /// The same of what the two files hold.
  static Result<LoraAdapter> read(const HfConfig& config, SafeTensors file);

  const std::string& name() const { return file_.name(); }  // of the weights file
  const SafeTensors& file() const { return file_; }
  const std::string& task() const { return task_; }  // "SEQ_CLS", "TOKEN_CLS", or any, or ""

  /// What is added to the layer of that path, or null.
  const LoraLayer* layer(std::string_view path) const;
  /// What replaces the tensor of that name, or null: F32, F16 or BF16.
  const Tensor* replacement(std::string_view name) const;

  /// By path and by name, without the trunk's prefix.
  const std::map<std::string, LoraLayer, std::less<>>& layers() const { return layers_; }
  const std::map<std::string, Tensor, std::less<>>& replacements() const { return replacements_; }

  /// kCorrupt unless the layer's weight is (out, in).
  Result<void> check(const LoraLayer& layer, int64_t out, int64_t in) const;

 private:
  explicit LoraAdapter(SafeTensors file) : file_(std::move(file)) {}

  SafeTensors file_;
  std::string task_;
  std::map<std::string, LoraLayer, std::less<>> layers_;
  std::map<std::string, Tensor, std::less<>> replacements_;
};

/// w (out, in) += scale b a.
void add_product(const LoraLayer& layer, const kernels::Table& kernels, std::span<float> w);

/// An adapter on its way into a model: remembers what was taken, since what is left fits nothing.
class LoraUse {
 public:
  /// The adapter outlives it.
  explicit LoraUse(const LoraAdapter& adapter) : adapter_(&adapter) {}

  const LoraAdapter& adapter() const { return *adapter_; }
  const LoraLayer* layer(std::string_view path);
  const Tensor* replacement(std::string_view name);

  /// kCorrupt, naming a tensor, unless everything was taken.
  Result<void> complete() const;

 private:
  const LoraAdapter* adapter_;
  std::set<const void*> taken_;
};

/// A model's tensors as they are with an adapter: the matrices that it changes in single
/// precision, the others as they were. The result looks into both, which must outlive it. Errors:
/// kCorrupt for a layer that the model lacks or has in another shape, kUnsupported for one that is
/// of another type than F32, F16 and BF16.
Result<TensorList> merge_lora(const TensorList& model, const LoraAdapter& adapter,
                              const kernels::Table& kernels);

}  // namespace signalbox::weights
