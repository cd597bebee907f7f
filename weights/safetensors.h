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
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Of the header; the limit of the reference implementation.
inline constexpr size_t kHeaderBytesMax = 100'000'000;

/// Owns the mappings that its tensors look into. Immutable, thread-safe.
class SafeTensors {
 public:
  SafeTensors() = default;  // no tensors

  /// Errors name the file: kNotFound, kIo; kCorrupt with what contradicts what; kUnsupported for an
  /// unknown dtype.
  static Result<SafeTensors> open(const std::filesystem::path& path);

  /// Opens the files that an index names ("model.safetensors.index.json", beside which they lie) as
  /// one; errors name the index or the file.
  static Result<SafeTensors> open_index(const std::filesystem::path& path);

  /// The weights of a model directory: its model.safetensors, or the files of its index.
  static Result<SafeTensors> open_directory(const std::filesystem::path& directory);

  /// Reads the header of `file`, which the result's tensors look into: the bytes must outlive it.
  /// `name` goes in front of errors. For open() and for fuzzing.
  static Result<SafeTensors> parse(std::span<const std::byte> file, std::string_view name);

  std::span<const Tensor> tensors() const { return tensors_; }  // sorted by name
  const std::string& name() const { return file_name_; }

  /// The tensor of that name and shape. kCorrupt, naming the tensor with what was expected and what
  /// is there.
  Result<Tensor> find(std::string_view name, const Shape& shape) const;

  /// The tensors with all that they look into.
  TensorList take() && { return std::move(list_); }

  /// find(), then every element as float into out. F32, F16 and BF16 are read; kUnsupported
  /// otherwise. Precondition: out holds the shape's element count.
  Result<void> read(std::string_view name, const Shape& shape, const kernels::Table& kernels,
                    std::span<float> out) const;

 private:
  static Result<void> read_into(TensorList& list, std::span<const std::byte> file,
                                std::string_view name);
  SafeTensors(std::string name, TensorList list)
      : file_name_(std::move(name)), list_(std::move(list)), tensors_(list_.tensors()) {}

  std::string file_name_;
  TensorList list_;
  std::vector<Tensor> tensors_;  // of list_
};

/// Every element of a F32, F16 or BF16 tensor from `begin` on, as float, until out is full.
/// Precondition: the type is one of these, and begin + out.size() elements are there.
void widen(const Tensor& tensor, int64_t begin, const kernels::Table& kernels,
           std::span<float> out);

}  // namespace signalbox::weights
