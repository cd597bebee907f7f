#pragma once
// Small files of foreign formats, written by each format's rules and not by the tested code. They
// are used in the readers' tests and as seeds of their fuzz targets.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::weights {

/// Returns the bytes of a number or an array of numbers as stored in memory.
template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string out;
  for (const T& value : values) out.append(reinterpret_cast<const char*>(&value), sizeof value);
  return out;
}

/// A protocol buffer message, built field by field.
class ProtobufWriter {
 public:
  ProtobufWriter& varint(uint32_t field, uint64_t value);
  ProtobufWriter& bytes(uint32_t field, std::string_view value);
  ProtobufWriter& float32(uint32_t field, float value);
  const std::string& text() const { return out_; }

 private:
  void raw_varint(uint64_t value);
  std::string out_;
};

/// TensorProto with raw_data. `type` is TensorProto's: 1 F32, 3 I8, 7 I64, 10 F16.
std::string onnx_tensor(std::string_view name, int type, const std::vector<int64_t>& dims,
                        std::string_view raw);
/// NodeProto; `attributes` are whole AttributeProtos.
std::string onnx_node(std::string_view op, std::string_view name,
                      const std::vector<std::string>& inputs, const std::string& output,
                      const std::vector<std::string>& attributes = {});
std::string onnx_integer_attribute(std::string_view name, int64_t value);
/// ModelProto with one graph.
std::string onnx_model(const std::vector<std::string>& nodes,
                       const std::vector<std::string>& tensors);
/// A dense layer as written by exporters: "encoder.layer.0.output.dense.bias" (2), its weight as
/// "onnx::MatMul_7" (3, 2) with the numbers 1 to 6, and a norm's weight.
std::string small_onnx();
/// small_onnx() after ONNX Runtime's quantiser: integers, a scale of 0.5, a zero point of 1.
std::string small_quantised_onnx();

/// A GGUF file, built key by key and tensor by tensor.
class GgufWriter {
 public:
  GgufWriter& u32(std::string_view key, uint32_t value);
  GgufWriter& f32(std::string_view key, float value);
  GgufWriter& string(std::string_view key, std::string_view value);
  GgufWriter& strings(std::string_view key, const std::vector<std::string>& values);
  /// Bytes of a value, preceded by its type.
  GgufWriter& raw(std::string_view key, std::string_view value);
  /// `dims` start with the fastest. The data follows the previous tensor's at a multiple of 32;
  /// tensor_at() stores `offset` instead of the real position.
  GgufWriter& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                     std::string_view data);
  GgufWriter& tensor_at(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                        uint64_t offset);
  std::string file(uint32_t version = 3) const;

 private:
  uint64_t keys_ = 0, tensors_ = 0;
  std::string metadata_, claims_, data_;
};
/// The keys of a "bert" with one layer, width two and a vocabulary of six.
GgufWriter small_gguf_keys(std::string_view architecture = "bert");
/// small_gguf_keys(), token_embd and one Q8_0 tensor.
std::string small_gguf();

/// A zip file of uncompressed entries. `wide` adds the zip64 records, like torch.
std::string zip_file(const std::vector<std::pair<std::string, std::string>>& entries,
                     bool wide = true);

/// A tensor of a state dict as pickled by torch.save.
struct TorchTensor {
  std::string name;
  std::string storage_type;  // "FloatStorage"
  std::string key;           // of the storage
  int32_t elements = 0;      // of the storage
  int32_t offset = 0;
  std::vector<int32_t> shape;
  std::vector<int32_t> strides;
};
/// The pickle of an OrderedDict of tensors; `old`: as before PyTorch 1.6.
std::string torch_pickle(const std::vector<TorchTensor>& tensors, bool old = false);
/// A checkpoint: data.pkl and data/KEY for each storage.
std::string torch_file(const std::string& pickle,
                       const std::vector<std::pair<std::string, std::string>>& storages);
/// A checkpoint as before PyTorch 1.6, with the parts around the main pickle. `keys` is a pickle.
std::string old_torch_file(const std::string& pickle, const std::string& keys,
                           const std::string& storages);
/// The tensors of small_torch().
std::string small_old_torch();
/// Two tensors that share a storage of six floats: "a" (2, 3), and "b" (3, 2), its transpose.
std::string small_torch();

}  // namespace signalbox::weights
