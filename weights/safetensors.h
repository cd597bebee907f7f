#pragma once
// Reader of the safetensors format: eight bytes of little-endian header length, a JSON header, the
// data. The file is mapped; every claim of the header is checked against the file before any byte
// of data is handed out. Format: https://github.com/huggingface/safetensors (README, "Format").

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "kernels/kernels.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Owns the mapping that its tensors look into. Immutable, thread-safe.
class SafeTensors {
 public:
  /// Errors name the file: kNotFound, kIo; kCorrupt with what contradicts what; kUnsupported for an
  /// unknown dtype.
  static Result<SafeTensors> open(const std::filesystem::path& path);

  /// Reads the header of `file`, which the result's tensors look into: the bytes must outlive it.
  /// `name` goes in front of errors. For open() and for fuzzing.
  static Result<SafeTensors> parse(std::span<const std::byte> file, std::string_view name);

  std::span<const Tensor> tensors() const { return tensors_; }  // sorted by name
  const std::string& name() const { return file_name_; }

  /// The tensor of that name and shape. kCorrupt, naming the tensor with what was expected and what
  /// is there.
  Result<Tensor> find(std::string_view name, const Shape& shape) const;

  /// find(), then every element as float into out. F32, F16 and BF16 are read; kUnsupported
  /// otherwise. Precondition: out holds the shape's element count.
  Result<void> read(std::string_view name, const Shape& shape, const kernels::Table& kernels,
                    std::span<float> out) const;

 private:
  std::string file_name_;
  std::vector<MappedFile> mapping_;  // one, or none when the caller owns the bytes
  std::vector<std::string> names_;
  std::vector<Shape> shapes_;
  std::vector<Tensor> tensors_;
};

/// Every element of a F32, F16 or BF16 tensor from `begin` on, as float, until out is full.
/// Precondition: the type is one of these, and begin + out.size() elements are there.
void widen(const Tensor& tensor, int64_t begin, const kernels::Table& kernels,
           std::span<float> out);

}  // namespace signalbox::weights
