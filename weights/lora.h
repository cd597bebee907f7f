#pragma once
// Reads a low-rank adapter in PEFT's format (adapter_config.json, adapter_model.safetensors). For
// some linear layers it has two small matrices whose product is added to the weight. It can also
// have tensors that replace the model's (a classifier, biases).
//
//   W' = W + scale B A,  scale = lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora
//
// Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021; Kalajdzievski, "A Rank
// Stabilization Scaling Factor for Fine-Tuning with LoRA", 2023. The tensor names in the weights
// file determine the layers. `target_modules` is checked if it is a list and ignored if it is a
// regular expression.

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
  std::string path;  // path of the layer in the model: "bert.encoder.layer.0.attention.self.query"
  Tensor a;          // (rank, in), F32, F16 or BF16
  Tensor b;          // (out, rank), F32, F16 or BF16
  float scale = 1;

  int64_t rank() const { return a.shape[0]; }
  int64_t in() const { return a.shape[1]; }
  int64_t out() const { return b.shape[0]; }
};

/// Immutable, thread-safe. Models with a head prefix their trunk's names with "bert.", "roberta."
/// and the like; bare models do not. Lookups ignore these prefixes.
class LoraAdapter {
 public:
  /// Errors name the file and the key or tensor: kNotFound, kIo, kCorrupt, and kUnsupported for
  /// features that change the computation (DoRA, embedding adapters).
  static Result<LoraAdapter> open(const std::filesystem::path& directory);
  /// Builds an adapter from the contents of the two files.
  static Result<LoraAdapter> read(const HfConfig& config, SafeTensors file);

  const std::string& name() const { return file_.name(); }  // of the weights file
  const SafeTensors& file() const { return file_; }
  const std::string& task() const { return task_; }  // "SEQ_CLS", "TOKEN_CLS", another task, or ""

  /// Returns the adapter's part for the layer at `path`, or nullptr.
  const LoraLayer* layer(std::string_view path) const;
  /// Returns the replacement for the tensor `name` (F32, F16 or BF16), or nullptr.
  const Tensor* replacement(std::string_view name) const;

  /// Keys are the path and the name without the trunk's prefixes.
  const std::map<std::string, LoraLayer, std::less<>>& layers() const { return layers_; }
  const std::map<std::string, Tensor, std::less<>>& replacements() const { return replacements_; }

  /// Returns kCorrupt unless the layer's weight has shape (out, in).
  Result<void> check(const LoraLayer& layer, int64_t out, int64_t in) const;

 private:
  explicit LoraAdapter(SafeTensors file) : file_(std::move(file)) {}

  SafeTensors file_;
  std::string task_;
  std::map<std::string, LoraLayer, std::less<>> layers_;
  std::map<std::string, Tensor, std::less<>> replacements_;
};

/// Computes w (out, in) += scale b a.
void add_product(const LoraLayer& layer, const kernels::Table& kernels, std::span<float> w);

/// Records which parts of an adapter a model uses, so that unused parts can be reported as errors.
class LoraUse {
 public:
  /// The adapter must outlive this object.
  explicit LoraUse(const LoraAdapter& adapter) : adapter_(&adapter) {}

  const LoraAdapter& adapter() const { return *adapter_; }
  const LoraLayer* layer(std::string_view path);
  const Tensor* replacement(std::string_view name);

  /// Returns kCorrupt with the name of a tensor unless all parts were used.
  Result<void> complete() const;

 private:
  const LoraAdapter* adapter_;
  std::set<const void*> taken_;
};

/// Returns the model's tensors merged with an adapter. Changed matrices are in single precision;
/// the others are unchanged. The result contains views into both arguments, which must outlive it.
/// Errors: kCorrupt if the model lacks a layer or its shape differs; kUnsupported for types other
/// than F32, F16 and BF16.
Result<TensorList> merge_lora(const TensorList& model, const LoraAdapter& adapter,
                              const kernels::Table& kernels);

}  // namespace signalbox::weights
