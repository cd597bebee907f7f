// Each writer follows the format's own specification, which is linked in the reader's header.

#include "tests/weights/foreign_files.h"

#include <initializer_list>

namespace signalbox::weights {
namespace {

template <class T>
std::string le(T value) {
  return bytes_of<T>({value});
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out.append(part);
  return out;
}

std::string floats(int count) {
  std::string out;
  for (int i = 1; i <= count; ++i) out += le(static_cast<float>(i));
  return out;
}

std::string zeros(size_t count) {
  return std::string(count, '\0');
}

std::string gguf_string(std::string_view text) {
  std::string out = le<uint64_t>(text.size());
  return out.append(text);
}

std::string pickled_text(std::string_view text) {
  std::string out = "X";
  out += le(static_cast<uint32_t>(text.size()));
  return out.append(text);
}

std::string pickled_integer(int32_t value) {
  std::string out = "J";
  return out.append(le(value));
}

std::string pickled_tuple(const std::vector<int32_t>& values) {
  std::string out = "(";
  for (const int32_t value : values) out += pickled_integer(value);
  return out.append("t");
}

std::string pickled_dict() {
  return "ccollections\nOrderedDict\n)R";
}

std::string pickled_tensor(const TorchTensor& tensor, bool old) {
  std::string out = "ctorch._utils\n_rebuild_tensor_v2\n((";
  out += pickled_text("storage");
  out.append("ctorch\n").append(tensor.storage_type).append("\n");
  out += pickled_text(tensor.key) + pickled_text("cpu") + pickled_integer(tensor.elements);
  out.append(old ? "NtQ" : "tQ");
  out += pickled_integer(tensor.offset) + pickled_tuple(tensor.shape);
  out += pickled_tuple(tensor.strides);
  out.append("\x89");  // requires_grad
  return out.append(pickled_dict()).append("tR");
}

}  // namespace

void ProtobufWriter::raw_varint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

ProtobufWriter& ProtobufWriter::varint(uint32_t field, uint64_t value) {
  raw_varint(uint64_t{field} << 3);
  raw_varint(value);
  return *this;
}

ProtobufWriter& ProtobufWriter::bytes(uint32_t field, std::string_view value) {
  raw_varint(uint64_t{field} << 3 | 2);
  raw_varint(value.size());
  out_.append(value);
  return *this;
}

ProtobufWriter& ProtobufWriter::float32(uint32_t field, float value) {
  raw_varint(uint64_t{field} << 3 | 5);
  out_ += le(value);
  return *this;
}

std::string onnx_tensor(std::string_view name, int type, const std::vector<int64_t>& dims,
                        std::string_view raw) {
  ProtobufWriter out;
  for (const int64_t extent : dims) out.varint(1, static_cast<uint64_t>(extent));
  return out.varint(2, static_cast<uint64_t>(type)).bytes(8, name).bytes(9, raw).text();
}

std::string onnx_node(std::string_view op, std::string_view name,
                      const std::vector<std::string>& inputs, const std::string& output,
                      const std::vector<std::string>& attributes) {
  ProtobufWriter out;
  for (const std::string& input : inputs) out.bytes(1, input);
  out.bytes(2, output).bytes(3, name).bytes(4, op);
  for (const std::string& attribute : attributes) out.bytes(5, attribute);
  return out.text();
}

std::string onnx_integer_attribute(std::string_view name, int64_t value) {
  return ProtobufWriter().bytes(1, name).varint(3, static_cast<uint64_t>(value)).text();
}

std::string onnx_model(const std::vector<std::string>& nodes,
                       const std::vector<std::string>& tensors) {
  ProtobufWriter graph;
  for (const std::string& node : nodes) graph.bytes(1, node);
  for (const std::string& tensor : tensors) graph.bytes(5, tensor);
  return ProtobufWriter().varint(1, 8).bytes(2, "pytorch").bytes(7, graph.text()).text();
}

std::string small_onnx() {
  const std::string at = "/encoder/layer.0/output/dense/";
  return onnx_model({onnx_node("MatMul", at + "MatMul", {"x", "onnx::MatMul_7"}, "y"),
                     onnx_node("Add", at + "Add", {"encoder.layer.0.output.dense.bias", "y"}, "z"),
                     onnx_node("Mul", "/Mul", {"z", "encoder.LayerNorm.weight"}, "out")},
                    {onnx_tensor("encoder.layer.0.output.dense.bias", 1, {2}, floats(2)),
                     onnx_tensor("encoder.LayerNorm.weight", 10, {2}, bytes_of<uint16_t>({0, 1})),
                     onnx_tensor("onnx::MatMul_7", 1, {3, 2}, floats(6)),
                     onnx_tensor("onnx::Slice_3", 7, {1}, bytes_of<int64_t>({5}))});
}

std::string small_quantised_onnx() {
  const std::string at = "/encoder/layer.0/output/dense/MatMul_quant";
  return onnx_model(
      {onnx_node("MatMulInteger", at,
                 {"xq", "onnx::MatMul_7_quantized", "xz", "onnx::MatMul_7_zero_point"}, "y"),
       onnx_node("Cast", at + "_cast", {"y"}, "yf"),
       onnx_node("Mul", at + "_scales", {"xs", "onnx::MatMul_7_scale"}, "s"),
       onnx_node("Mul", at + "_output", {"yf", "s"}, "ys"),
       onnx_node("Add", "/Add", {"encoder.layer.0.output.dense.bias", "ys"}, "z"),
       onnx_node("Gather", "/Gather", {"embeddings.weight_quantized", "ids"}, "e")},
      {onnx_tensor("encoder.layer.0.output.dense.bias", 1, {2}, floats(2)),
       onnx_tensor("onnx::MatMul_7_quantized", 3, {3, 2}, bytes_of<int8_t>({1, 2, 3, 4, 5, -6})),
       onnx_tensor("onnx::MatMul_7_scale", 1, {}, bytes_of<float>({0.5f})),
       onnx_tensor("onnx::MatMul_7_zero_point", 3, {}, bytes_of<int8_t>({1})),
       onnx_tensor("embeddings.weight_quantized", 2, {2, 2}, bytes_of<uint8_t>({0, 128, 129, 255})),
       onnx_tensor("embeddings.weight_scale", 1, {}, bytes_of<float>({0.25f})),
       onnx_tensor("embeddings.weight_zero_point", 2, {}, bytes_of<uint8_t>({128}))});
}

GgufWriter& GgufWriter::raw(std::string_view key, std::string_view value) {
  ++keys_;
  metadata_ += gguf_string(key);
  metadata_.append(value);
  return *this;
}
GgufWriter& GgufWriter::u32(std::string_view key, uint32_t value) {
  return raw(key, le<uint32_t>(4) + le(value));
}
GgufWriter& GgufWriter::f32(std::string_view key, float value) {
  return raw(key, le<uint32_t>(6) + le(value));
}
GgufWriter& GgufWriter::string(std::string_view key, std::string_view value) {
  return raw(key, le<uint32_t>(8) + gguf_string(value));
}
GgufWriter& GgufWriter::strings(std::string_view key, const std::vector<std::string>& values) {
  std::string array = le<uint32_t>(9) + le<uint32_t>(8) + le<uint64_t>(values.size());
  for (const std::string& value : values) array += gguf_string(value);
  return raw(key, array);
}

GgufWriter& GgufWriter::tensor_at(std::string_view name, const std::vector<uint64_t>& dims,
                                  uint32_t type, uint64_t offset) {
  ++tensors_;
  claims_ += gguf_string(name) + le(static_cast<uint32_t>(dims.size()));
  for (const uint64_t extent : dims) claims_ += le(extent);
  claims_ += le(type) + le(offset);
  return *this;
}

GgufWriter& GgufWriter::tensor(std::string_view name, const std::vector<uint64_t>& dims,
                               uint32_t type, std::string_view data) {
  data_.resize((data_.size() + 31) / 32 * 32);
  tensor_at(name, dims, type, data_.size());
  data_.append(data);
  return *this;
}

std::string GgufWriter::file(uint32_t version) const {
  std::string out = "GGUF";
  out += le(version) + le(tensors_) + le(keys_) + metadata_ + claims_;
  out.resize((out.size() + 31) / 32 * 32);
  return out + data_;
}

GgufWriter small_gguf_keys(std::string_view architecture) {
  GgufWriter out;
  out.string("general.architecture", architecture);
  out.u32("bert.block_count", 1).u32("bert.embedding_length", 2);
  out.u32("bert.feed_forward_length", 32).u32("bert.attention.head_count", 1);
  out.f32("bert.attention.layer_norm_epsilon", 1e-12f).u32("bert.pooling_type", 2);
  out.string("tokenizer.ggml.model", "bert");
  out.strings("tokenizer.ggml.tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                        "\u2581"
                                        "a",
                                        "b"});
  return out;
}

std::string small_gguf() {
  GgufWriter out = small_gguf_keys();
  out.tensor("token_embd.weight", {2, 6}, 0, floats(12));
  std::string block = bytes_of<uint16_t>({0x3800});  // 0.5
  for (int i = 0; i < 32; ++i) block.push_back(static_cast<char>(i - 16));
  return out.tensor("blk.0.ffn_down.weight", {32, 2}, 8, block + block).file();
}

std::string zip_file(const std::vector<std::pair<std::string, std::string>>& entries, bool wide) {
  std::string out, directory;
  for (const auto& [name, content] : entries) {
    const auto size = static_cast<uint32_t>(content.size());
    // Flags, method, time and date, checksum, both sizes, length of the name.
    const std::string common =
        joined({zeros(8), zeros(4), le(size), le(size), le(static_cast<uint16_t>(name.size()))});
    directory += joined(
        {"PK\x01\x02", zeros(4), common, zeros(12), le(static_cast<uint32_t>(out.size())), name});
    out += joined({"PK\x03\x04", zeros(2), common, zeros(2), name, content});
  }
  const uint64_t at = out.size(), size = directory.size(), count = entries.size();
  out += directory;
  const uint64_t end = out.size();
  if (wide) {
    out += joined({"PK\x06\x06", le<uint64_t>(44), zeros(12), le(count), le(count), le(size),
                   le(at), "PK\x06\x07", zeros(4), le(end), le<uint32_t>(1)});
  }
  const auto n = static_cast<uint16_t>(count);
  return joined({out, "PK\x05\x06", zeros(4), le(n), le(n), le(static_cast<uint32_t>(size)),
                 le(static_cast<uint32_t>(at)), zeros(2)});
}

std::string torch_pickle(const std::vector<TorchTensor>& tensors, bool old) {
  std::string out = joined({"\x80\x02", pickled_dict(), "("});
  for (const TorchTensor& tensor : tensors) {
    out += pickled_text(tensor.name);
    out += pickled_tensor(tensor, old);
  }
  return out + "u.";
}

std::string torch_file(const std::string& pickle,
                       const std::vector<std::pair<std::string, std::string>>& storages) {
  std::vector<std::pair<std::string, std::string>> entries = {{"archive/data.pkl", pickle}};
  for (const auto& [key, content] : storages) {
    entries.emplace_back(joined({"archive/data/", key}), content);
  }
  entries.emplace_back("archive/version", "3\n");
  return zip_file(entries);
}

std::string old_torch_file(const std::string& pickle, const std::string& keys,
                           const std::string& storages) {
  return joined({"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "\x80\x02M\xe9\x03.",
                 "\x80\x02}(", pickled_text("little_endian"), "\x88u.", pickle, keys, storages});
}

namespace {
const std::vector<TorchTensor> kTwoViews = {{"a", "FloatStorage", "0", 6, 0, {2, 3}, {3, 1}},
                                            {"b", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}}};
}  // namespace

std::string small_torch() {
  return torch_file(torch_pickle(kTwoViews), {{"0", floats(6)}});
}

std::string small_old_torch() {
  return old_torch_file(torch_pickle(kTwoViews, true),
                        joined({"\x80\x02](", pickled_text("0"), "e."}),
                        joined({le<int64_t>(6), floats(6)}));
}

}  // namespace signalbox::weights
