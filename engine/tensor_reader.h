#pragma once
// Tensors of a weights file by name, checked and packed. It remembers the first error, so that the
// parameters of a layer read as a list.

#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "engine/linear.h"
#include "kernels/kernels.h"
#include "weights/lora.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

/// A matrix as it was packed at load, for whoever writes packed files.
struct PackedMatrix {
  std::string name;  // the layer's, without ".weight"
  kernels::Format format;
  std::span<const std::byte> bytes;  // as pack_linear writes it
  double error = 0;  // of what it stands for: root mean square, relative to that of the weights
  std::vector<std::string> sources;  // the tensors that it replaces
};

/// Name of the tensor that holds a packed matrix: "encoder.layer.0.attention.packed_int8".
std::string packed_name(std::string_view layer, kernels::Format format);

/// One linear layer of a weights file.
struct LinearSpec {
  std::vector<std::string> parts;  // names of the layers that are stacked, mostly one
  std::string name;                // of the whole, in packed files
  int32_t in;
  int32_t out;  // of the whole
  bool bias;
  bool gated = false;  // packed for Finish::kGeglu
};

class TensorReader {
 public:
  /// `prefix` goes in front of every name; matrices are packed in `format` unless the file holds
  /// them packed. With `merge`, everything is read as it is with that adapter, and a matrix that
  /// the file holds packed and the adapter changes is an error. The file, the kernels and the
  /// adapter outlive the reader.
  TensorReader(const weights::SafeTensors& file, const kernels::Table& kernels, std::string prefix,
               kernels::Format format = kernels::Format::kF32, weights::LoraUse* merge = nullptr)
      : file_(file),
        kernels_(kernels),
        prefix_(std::move(prefix)),
        format_(format),
        merge_(merge) {}

  /// Every element as float. Empty after an error. Looks before it allocates: a config may claim
  /// any size.
  Buffer<float> read(const std::string& name, const weights::Shape& shape);

  /// The same into `out`, which holds the shape's element count.
  void read(const std::string& name, const weights::Shape& shape, std::span<float> out);

  /// PART.weight (out / parts, in), and PART.bias when `bias`, of each part, packed into the arena;
  /// or the packed matrix of that name, in place.
  Linear linear(const LinearSpec& spec);
  /// A layer of one part.
  Linear linear(const std::string& name, int32_t in, int32_t out, bool bias, bool gated = false) {
    return linear({{name}, name, in, out, bias, gated});
  }

  /// NAME.weight (width), and NAME.bias (width) when `bias`, otherwise zeros.
  Norm norm(const std::string& name, int32_t width, bool bias);

  /// The first extent of a tensor; 0 when there is none of that name, or when it is a scalar.
  int64_t rows(const std::string& name) const;
  /// Name of the file that has it.
  const std::string& file_of(const std::string& name) const { return place_of(name).file.name(); }

  /// A tensor left in the file because its rows are picked one by one: F32, F16 or BF16.
  weights::Tensor table(const std::string& name, const weights::Shape& shape);

  const Result<void>& status() const { return status_; }

  /// Of all that was read so far, as it is held: packed, widened to float, or left in the file.
  uint64_t held_bytes() const { return held_bytes_; }

  /// What the linear layers look into; it must outlive them.
  Arena take_arena() { return std::move(arena_); }
  /// Of the matrices to come.
  void set_format(kernels::Format format) { format_ = format; }

  /// From here on it is remembered what was packed.
  void record() { records_ = true; }
  /// What was packed, in the order of reading; looks into the arena.
  std::vector<PackedMatrix> take_packed() { return std::move(packed_); }
  /// The linear layers in the order of reading, which is that of Linear::place(); with the prefix.
  std::vector<LinearSpec> take_linears() { return std::move(linears_); }

 private:
  struct Place {
    const weights::SafeTensors& file;
    std::string name;  // in it
  };
  Place place_of(const std::string& name) const;
  bool expect(const std::string& name, const weights::Shape& shape);
  const void* find_packed(const LinearSpec& spec, kernels::Format& format);
  static Result<void> check_packed(const weights::Tensor& tensor, kernels::Format format,
                                   const LinearSpec& spec);
  const void* pack(const LinearSpec& spec);
  /// w (out, in) with the adapter's part of the layer of that path.
  void merge(const std::string& path, int32_t out, int32_t in, std::span<float> w);
  Buffer<float> read_bias(const LinearSpec& spec);

  const weights::SafeTensors& file_;
  const kernels::Table& kernels_;
  std::string prefix_;
  kernels::Format format_;
  weights::LoraUse* merge_;
  Arena arena_;
  uint64_t held_bytes_ = 0;
  bool records_ = false;
  std::vector<PackedMatrix> packed_;
  std::vector<LinearSpec> linears_;
  Result<void> status_;
};

/// The first extent of a tensor; 0 when there is none of that name, or when it is a scalar.
int64_t rows_of(const weights::SafeTensors& file, std::string_view name);

/// The first of `prefixes` with which `name` is there; the last when none is, so that the error
/// names it.
std::string prefix_of(const weights::SafeTensors& file, std::initializer_list<const char*> prefixes,
                      std::string_view name);

}  // namespace signalbox::engine
