#pragma once
// Named tensors out of a file of any format, together with the bytes that they look into: what the
// readers of foreign files hand over, and what the writer of safetensors takes.

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Move-only; tensors stay valid when it is moved. Reading it is thread-safe.
class TensorList {
 public:
  TensorList() = default;
  TensorList(TensorList&&) = default;
  TensorList& operator=(TensorList&&) = default;

  /// Adds a tensor that looks into bytes which outlive the list, or which keep() has. kCorrupt when
  /// the name is taken, is empty, or has control characters, and when shape and bytes disagree.
  Result<void> add(std::string name, Dtype dtype, Shape shape, std::span<const std::byte> bytes);
  /// Adds a tensor with bytes of its own.
  Result<void> add(std::string name, Dtype dtype, Shape shape, std::vector<std::byte> bytes);

  /// kCorrupt when `to` is taken or is no name. Precondition: there is a tensor `from`.
  Result<void> rename(const std::string& from, std::string to);

  /// Keeps a file mapped for the tensors that look into it.
  void keep(MappedFile file) { files_.push_back(std::move(file)); }
  uint64_t kept_bytes() const;

  /// A line for the person who converts: what of the file is not among the tensors.
  void note(std::string line) { notes_.push_back(std::move(line)); }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Sorted by name; views that live as long as the list.
  std::vector<Tensor> tensors() const;
  bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Dtype dtype;
    Shape shape;
    std::span<const std::byte> bytes;
    std::vector<std::byte> own;  // what `bytes` looks into, or empty
  };
  Result<void> check_name(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<MappedFile> files_;
  std::vector<std::string> notes_;
};

}  // namespace signalbox::weights
