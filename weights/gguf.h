#pragma once
// Reads GGUF, the format of llama.cpp: metadata by key, then tensors, some of which are quantised
// in blocks. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// A metadata value. Integers of every width become int64_t, floats become double.
using GgufValue =
    std::variant<int64_t, double, bool, std::string_view, std::vector<std::string_view>,
                 std::vector<int64_t>, std::vector<double>>;

/// A tensor as stored in the file.
struct GgufTensor {
  std::string_view name;
  uint32_t type = 0;  // ggml's type number
  Shape shape;        // slowest dimension first, as in Tensor
  std::span<const std::byte> bytes;
};

/// Views into the file's bytes, which must outlive this object. Immutable, thread-safe.
class Gguf {
 public:
  /// Parses versions 2 and 3, little-endian. Errors start with `name`: kCorrupt with the
  /// contradiction; kUnsupported for another version or an unsupported tensor type.
  static Result<Gguf> parse(std::span<const std::byte> file, std::string_view name);

  /// Returns the value of a key, or nullptr.
  const GgufValue* find(std::string_view key) const;
  /// Returns the value of a key. kCorrupt if the key is missing or its value is not a T.
  template <class T>
  Result<T> get(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return fail(Code::kCorrupt, "{}: metadata \"{}\" is missing", name_, key);
    if (const T* found = std::get_if<T>(value)) return *found;
    return fail(Code::kCorrupt, "{}: metadata \"{}\" has another type", name_, key);
  }
  const std::string& name() const { return name_; }
  std::span<const GgufTensor> tensors() const { return tensors_; }

 private:
  std::string name_;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
};

/// Returns the tensors; block types (Q8_0, Q5_1, Q5_0, Q4_1, Q4_0) are widened to F32. F32, F16 and
/// BF16 tensors are views into the file from which `file` was parsed.
Result<TensorList> gguf_tensors(const Gguf& file);

/// Renames tensors from llama.cpp's names to Hugging Face's, by the architecture in the file. Only
/// "bert" is supported. Returns kUnsupported for another architecture, and for a tensor that the
/// engine's BERT does not have.
Result<void> rename_gguf_tensors(const Gguf& file, TensorList& tensors);

}  // namespace signalbox::weights
