#pragma once
// Reads the safetensors format: eight bytes of little-endian header length, a JSON header, then the
// data. The file is mapped. Every claim of the header is checked against the file before any data
// is returned. Format: https://github.com/huggingface/safetensors (README, "Format").

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "kernels/kernels.h"
#include "weights/tensor.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Maximum header size, as in the reference implementation.
inline constexpr size_t kHeaderBytesMax = 100'000'000;

/// Owns the mappings behind its tensors. Immutable, thread-safe.
class SafeTensors {
 public:
  SafeTensors() = default;  // has no tensors

  /// Errors name the file: kNotFound, kIo; kCorrupt with the contradiction; kUnsupported for an
  /// unknown dtype.
  static Result<SafeTensors> open(const std::filesystem::path& path);

  /// Opens all files listed in an index ("model.safetensors.index.json"), which are in the same
  /// directory. Errors name the index or the file.
  static Result<SafeTensors> open_index(const std::filesystem::path& path);

  /// Opens the weights of a model directory: model.safetensors, or the files listed in its index.
  /// Older files get today's names (to_hf_names()).
  static Result<SafeTensors> open_directory(const std::filesystem::path& directory);

  /// Parses the header of `file`, which must outlive the result. Errors start with `name`. Used by
  /// open() and for fuzzing.
  static Result<SafeTensors> parse(std::span<const std::byte> file, std::string_view name);

  /// Makes tensors of another format available in the same way. Errors start with `name`.
  static SafeTensors of(std::string name, TensorList list) {
    return {std::move(name), std::move(list)};
  }

  std::span<const Tensor> tensors() const { return tensors_; }  // sorted by name
  const std::string& name() const { return file_name_; }

  /// Returns the tensor with that name and shape. kCorrupt with the tensor's name and the expected
  /// and actual shape.
  Result<Tensor> find(std::string_view name, const Shape& shape) const;

  /// Returns the tensors together with the memory behind them.
  TensorList take() && { return std::move(list_); }

  /// find(), then converts every element of an F32, F16 or BF16 tensor to float. kUnsupported for
  /// other types. `out` must hold exactly the shape's elements.
  Result<void> read(std::string_view name, const Shape& shape, const kernels::Table& kernels,
                    std::span<float> out) const;

 private:
  static Result<void> read_into(TensorList& list, std::span<const std::byte> file,
                                std::string_view name);
  SafeTensors(std::string name, TensorList list)
      : file_name_(std::move(name)), list_(std::move(list)), tensors_(list_.tensors()) {}

  std::string file_name_;
  TensorList list_;
  std::vector<Tensor> tensors_;  // views of list_
};

/// Converts elements of an F32, F16 or BF16 tensor to float, starting at `begin`, until `out` is
/// full. Requires one of these types and begin + out.size() elements.
void widen(const Tensor& tensor, int64_t begin, const kernels::Table& kernels,
           std::span<float> out);

}  // namespace signalbox::weights
