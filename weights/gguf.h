#pragma once
// Reader of GGUF, the format of llama.cpp: metadata by key, then tensors, some of them in blocks of
// few bits. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

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

/// A value of the metadata. Integers of every width are int64_t, floats double.
using GgufValue =
    std::variant<int64_t, double, bool, std::string_view, std::vector<std::string_view>,
                 std::vector<int64_t>, std::vector<double>>;

/// A tensor as the file has it.
struct GgufTensor {
  std::string_view name;
  uint32_t type = 0;  // ggml's number of it
  Shape shape;        // the slowest dimension first, as a Tensor has it
  std::span<const std::byte> bytes;
};

/// Views into the file's bytes, which must outlive it. Immutable, thread-safe.
class Gguf {
 public:
  /// Versions 2 and 3, little-endian. `name` goes in front of errors: kCorrupt with what
  /// contradicts what; kUnsupported for another version or for a tensor of a type that is not
  /// built.
  static Result<Gguf> parse(std::span<const std::byte> file, std::string_view name);

  /// The value of a key, or none: nullptr.
  const GgufValue* find(std::string_view key) const;
  /// The value of a key when it is a T; kCorrupt otherwise, or without the key.
  template <class T>
  Result<T> get(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return fail(Code::kCorrupt, "{}: metadata \"{}\" is missing", name_, key);
    if (const T* found = std::get_if<T>(value)) return *found;
    return fail(Code::kCorrupt, "{}: metadata \"{}\" is of another type", name_, key);
  }
  const std::string& name() const { return name_; }
  std::span<const GgufTensor> tensors() const { return tensors_; }

 private:
  std::string name_;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
};

/// The tensors with what is in blocks of few bits widened to F32: Q8_0, Q5_1, Q5_0, Q4_1, Q4_0.
/// `file` is what the Gguf was parsed from. F32, F16 and BF16 look into it.
Result<TensorList> gguf_tensors(const Gguf& file);

/// Names of llama.cpp to those of Hugging Face, by the architecture that the file names. Built is
/// "bert". kUnsupported for another architecture, and for a tensor that the engine's BERT lacks.
Result<void> rename_gguf_tensors(const Gguf& file, TensorList& tensors);

}  // namespace signalbox::weights
