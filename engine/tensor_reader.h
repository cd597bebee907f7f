#pragma once
// Reads tensors of a weights file by name, checks and packs them. It remembers the first error, so
// that a layer's parameters can be read as a plain list.

#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "engine/linear.h"
#include "kernels/kernels.h"
#include "weights/lora.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

/// A matrix packed while loading, for writers of packed files.
struct PackedMatrix {
  std::string name;  // of the layer, without ".weight"
  kernels::Format format;
  std::span<const std::byte> bytes;  // in the format of pack_linear
  double error = 0;  // of the packed weights: root mean square, relative to that of the original
                     // weights
  std::vector<std::string> sources;  // the tensors it replaces
};

/// Returns the tensor name of a packed matrix: "encoder.layer.0.attention.packed_int8".
std::string packed_name(std::string_view layer, kernels::Format format);

/// One linear layer of a weights file.
struct LinearSpec {
  std::vector<std::string> parts;  // names of the stacked layers, usually one
  std::string name;                // combined name in packed files
  int32_t in;
  int32_t out;  // of all parts together
  bool bias;
  bool gated = false;              // packed for a gated Finish
  std::vector<int32_t> rows = {};  // outputs of each part; empty: all have the same number
  int32_t fixed_parts = 0;  // the first parts are also used when the trunk opens, so an adapter can
                            // change them only if it is merged
  int32_t taps = 1;  // of a convolution, stored as (out, in / taps, taps): the matrix has one
                     // group of columns a tap

  int32_t rows_of(size_t part) const {
    return rows.empty() ? out / static_cast<int32_t>(parts.size()) : rows[part];
  }
};

class TensorReader {
 public:
  /// `prefix` is prepended to every name. Matrices are packed in `format` unless the file holds
  /// them packed. With `merge`, all values are read with that adapter merged; it is an error if the
  /// adapter changes a packed matrix. The file, the kernels and the adapter must outlive the
  /// reader.
  TensorReader(const weights::SafeTensors& file, const kernels::Table& kernels, std::string prefix,
               kernels::Format format = kernels::Format::kF32, weights::LoraUse* merge = nullptr)
      : file_(file),
        kernels_(kernels),
        prefix_(std::move(prefix)),
        format_(format),
        merge_(merge) {}

  /// Returns all elements as float, or an empty buffer after an error. Checks the shape before it
  /// allocates, because a config may claim any size.
  Buffer<float> read(const std::string& name, const weights::Shape& shape);

  /// Reads into `out`, which must hold exactly the shape's elements.
  void read(const std::string& name, const weights::Shape& shape, std::span<float> out);

  /// Reads PART.weight (rows_of(part), in) and, if `bias`, PART.bias for each part and packs them
  /// into the arena. If the file has a packed matrix of that name, uses it in place.
  Linear linear(const LinearSpec& spec);
  /// Reads a layer with one part.
  Linear linear(const std::string& name, int32_t in, int32_t out, bool bias, bool gated = false) {
    return linear({{name}, name, in, out, bias, gated});
  }

  /// Packs a matrix w (out, in) that was computed from tensors, in single precision and into the
  /// arena. bias (out), or empty.
  Linear packed(int32_t in, int32_t out, const Buffer<float>& w, const Buffer<float>& bias);

  /// Reads NAME.weight (width), and NAME.bias (width) if `bias`; otherwise the bias is zero.
  Norm norm(const std::string& name, int32_t width, bool bias);

  /// Reads NAME.weight (width). The scale is (offset + weight) * factor.
  RmsNorm rms_norm(const std::string& name, int32_t width, float offset = 0, float factor = 1);

  /// Returns the first extent of a tensor; 0 if it does not exist or is a scalar.
  int64_t rows(const std::string& name) const;
  /// Returns the name of the file that contains the tensor.
  const std::string& file_of(const std::string& name) const { return place_of(name).file.name(); }

  /// Returns a tensor that stays in the file because its rows are read individually: F32, F16 or
  /// BF16.
  weights::Tensor table(const std::string& name, const weights::Shape& shape);

  const Result<void>& status() const { return status_; }

  /// Returns the bytes of everything read so far, in its final form: packed, widened to float, or
  /// in the file.
  uint64_t held_bytes() const { return held_bytes_; }

  /// Returns the memory of the linear layers, which must outlive them.
  Arena take_arena() { return std::move(arena_); }
  /// Sets the format of the following matrices.
  void set_format(kernels::Format format) { format_ = format; }

  /// Starts recording packed matrices.
  void record() { records_ = true; }
  /// Returns the packed matrices in reading order; they point into the arena.
  std::vector<PackedMatrix> take_packed() { return std::move(packed_); }
  /// Returns the linear layers in reading order, which equals Linear::place(). Names include the
  /// prefix.
  std::vector<LinearSpec> take_linears() { return std::move(linears_); }

 private:
  struct Place {
    const weights::SafeTensors& file;
    std::string name;  // name in the file
  };
  Place place_of(const std::string& name) const;
  bool expect(const std::string& name, const weights::Shape& shape);
  const void* find_packed(const LinearSpec& spec, kernels::Format& format);
  static Result<void> check_packed(const weights::Tensor& tensor, kernels::Format format,
                                   const LinearSpec& spec);
  const void* pack(const LinearSpec& spec);
  /// Adds the adapter's part for the layer at that path to w (out, in).
  void merge(const std::string& path, int32_t out, int32_t in, std::span<float> w);
  static weights::Shape shape_of(const LinearSpec& spec, size_t part);
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

/// Returns the first extent of a tensor; 0 if it does not exist or is a scalar.
int64_t rows_of(const weights::SafeTensors& file, std::string_view name);

/// Returns the first of `prefixes` with which `name` exists. If there is none, returns the last, so
/// that the error names it.
std::string prefix_of(const weights::SafeTensors& file, const std::vector<const char*>& prefixes,
                      std::string_view name);

}  // namespace signalbox::engine
