// Names of a Hugging Face BertModel to fields.

#include "engine/bert_weights.h"

#include <algorithm>
#include <string>

namespace signalbox::engine {
namespace {

// Reads tensors under one prefix and remembers the first error, so that a layer reads as a list.
class Reader {
 public:
  Reader(const weights::SafeTensors& file, const kernels::Table& kernels, std::string prefix)
      : file_(file), kernels_(kernels), prefix_(std::move(prefix)) {}

  void read(const std::string& name, const weights::Shape& shape, std::span<float> out) {
    if (!status_) return;
    status_ = file_.read(prefix_ + name, shape, kernels_, out);
  }

  Buffer<float> read(const std::string& name, const weights::Shape& shape) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    Buffer<float> out(size);
    read(name, shape, out.span());
    return out;
  }

  const Result<void>& status() const { return status_; }

 private:
  const weights::SafeTensors& file_;
  const kernels::Table& kernels_;
  std::string prefix_;
  Result<void> status_;
};

// BertModel saves bare names; models with a head on top put "bert." in front.
std::string prefix_of(const weights::SafeTensors& file) {
  const auto prefixed = [](const weights::Tensor& tensor) {
    return tensor.name.starts_with("bert.");
  };
  return std::ranges::any_of(file.tensors(), prefixed) ? "bert." : "";
}

BertLayerWeights read_layer(Reader& reader, const BertConfig& config, int32_t layer) {
  const int64_t h = config.hidden;
  const int64_t m = config.intermediate;
  const std::string at = "encoder.layer." + std::to_string(layer) + ".";
  BertLayerWeights w;
  w.qkv = Buffer<float>(3 * h * h);
  w.qkv_bias = Buffer<float>(3 * h);
  int64_t part = 0;
  for (const char* name : {"query", "key", "value"}) {
    const std::string self = at + "attention.self." + name;
    reader.read(self + ".weight", {h, h}, w.qkv.span().subspan(part * h * h, h * h));
    reader.read(self + ".bias", {h}, w.qkv_bias.span().subspan(part * h, h));
    ++part;
  }
  w.attention_out = reader.read(at + "attention.output.dense.weight", {h, h});
  w.attention_bias = reader.read(at + "attention.output.dense.bias", {h});
  w.attention_gamma = reader.read(at + "attention.output.LayerNorm.weight", {h});
  w.attention_beta = reader.read(at + "attention.output.LayerNorm.bias", {h});
  w.up = reader.read(at + "intermediate.dense.weight", {m, h});
  w.up_bias = reader.read(at + "intermediate.dense.bias", {m});
  w.down = reader.read(at + "output.dense.weight", {h, m});
  w.down_bias = reader.read(at + "output.dense.bias", {h});
  w.output_gamma = reader.read(at + "output.LayerNorm.weight", {h});
  w.output_beta = reader.read(at + "output.LayerNorm.bias", {h});
  return w;
}

bool is_floating(weights::Dtype dtype) {
  return dtype == weights::Dtype::kF32 || dtype == weights::Dtype::kF16 ||
         dtype == weights::Dtype::kBF16;
}

}  // namespace

Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const kernels::Table& kernels) {
  const int64_t h = config.hidden;
  const std::string prefix = prefix_of(file);
  BertWeights out;
  const std::string token_table = prefix + "embeddings.word_embeddings.weight";
  SIGNALBOX_TRY(out.tokens, file.find(token_table, {config.vocabulary, h}));
  if (!is_floating(out.tokens.dtype)) {
    return fail(Code::kUnsupported, "tensor \"{}\" is {}; F32, F16 and BF16 are read", token_table,
                weights::dtype_name(out.tokens.dtype));
  }

  Reader reader(file, kernels, prefix);
  out.positions = reader.read("embeddings.position_embeddings.weight", {config.positions, h});
  const Buffer<float> types =
      reader.read("embeddings.token_type_embeddings.weight", {config.types, h});
  out.gamma = reader.read("embeddings.LayerNorm.weight", {h});
  out.beta = reader.read("embeddings.LayerNorm.bias", {h});
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    out.layers.push_back(read_layer(reader, config, layer));
  }
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  for (int64_t p = 0; p < config.positions; ++p)
    kernels.add(h, types.data(), out.positions.data() + p * h);
  return out;
}

}  // namespace signalbox::engine
