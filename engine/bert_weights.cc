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

  // Empty after an error. Looks before it allocates: a config may claim any size.
  Buffer<float> read(const std::string& name, const weights::Shape& shape) {
    if (!has(name, shape)) return {};
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    Buffer<float> out(size);
    read(name, shape, out.span());
    return out;
  }

  // Packs into the front of `room`, which shrinks by what was taken.
  Linear linear(const std::string& name, int32_t in, int32_t out, std::span<float>& room) {
    const Buffer<float> w = read(name + ".weight", {out, in});
    return pack(in, out, w, read(name + ".bias", {out}), room);
  }

  BertNorm norm(const std::string& name, int32_t width) {
    return {read(name + ".weight", {width}), read(name + ".bias", {width})};
  }

  // Query, key and value of one attention, stacked: hidden to 3 hidden.
  Linear qkv(const std::string& self, int32_t hidden, std::span<float>& room) {
    const size_t h = hidden;
    Buffer<float> w(3 * h * h), bias(3 * h);
    size_t part = 0;
    for (const char* name : {"query", "key", "value"}) {
      read(self + name + ".weight", {hidden, hidden}, w.span().subspan(part * h * h, h * h));
      read(self + name + ".bias", {hidden}, bias.span().subspan(part * h, h));
      ++part;
    }
    return pack(hidden, 3 * hidden, w, std::move(bias), room);
  }

  // Whether a tensor is there; remembers the error when it is not.
  bool has(const std::string& name, const weights::Shape& shape) {
    if (status_) status_ = file_.find(prefix_ + name, shape).map([](const auto&) {});
    return status_.has_value();
  }

  const Result<void>& status() const { return status_; }

 private:
  Linear pack(int32_t in, int32_t out, const Buffer<float>& w, Buffer<float> bias,
              std::span<float>& room) {
    if (!status_) return {};
    const size_t size = Linear::packed_size(kernels_, in, out);
    const std::span<float> packed = room.first(size);
    room = room.subspan(size);
    return {kernels_, in, out, w, std::move(bias), packed};
  }

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

// Floats of the four packed products of a layer.
size_t packed_size(const BertConfig& config, const kernels::Table& kernels) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  return Linear::packed_size(kernels, h, 3 * h) + Linear::packed_size(kernels, h, h) +
         Linear::packed_size(kernels, h, m) + Linear::packed_size(kernels, m, h);
}

BertLayerWeights read_layer(Reader& reader, const BertConfig& config, const kernels::Table& kernels,
                            int32_t layer) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const std::string at = fmt::format("encoder.layer.{}.", layer);
  BertLayerWeights w;
  for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value",
                           "attention.output.dense"}) {
    if (!reader.has(at + name + ".weight", {h, h})) return w;
  }
  if (!reader.has(at + "intermediate.dense.weight", {m, h})) return w;
  w.packed = Buffer<float>(packed_size(config, kernels));
  std::span<float> room = w.packed.span();
  w.qkv = reader.qkv(at + "attention.self.", h, room);
  w.attention_out = reader.linear(at + "attention.output.dense", h, h, room);
  w.attention_norm = reader.norm(at + "attention.output.LayerNorm", h);
  w.up = reader.linear(at + "intermediate.dense", h, m, room);
  w.down = reader.linear(at + "output.dense", m, h, room);
  w.output_norm = reader.norm(at + "output.LayerNorm", h);
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
  out.norm = reader.norm("embeddings.LayerNorm", config.hidden);
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    out.layers.push_back(read_layer(reader, config, kernels, layer));
  }
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  for (int64_t p = 0; p < config.positions; ++p)
    kernels.add(h, types.data(), out.positions.data() + p * h);
  return out;
}

}  // namespace signalbox::engine
