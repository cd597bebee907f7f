#pragma once
// Named tensors from a file of any format, together with the memory behind them. Readers of foreign
// formats return it, and the safetensors writer takes its tensors.

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// Move-only; tensors stay valid after a move. Reading is thread-safe.
class TensorList {
 public:
  TensorList() = default;
  TensorList(TensorList&&) = default;
  TensorList& operator=(TensorList&&) = default;

  /// Adds a view of bytes that outlive the list or that keep() holds. Returns kCorrupt if the name
  /// exists already, is empty or contains control characters, or if the shape and the bytes
  /// disagree.
  Result<void> add(std::string name, Dtype dtype, Shape shape, std::span<const std::byte> bytes);
  /// Adds a tensor that owns its bytes.
  Result<void> add(std::string name, Dtype dtype, Shape shape, std::vector<std::byte> bytes);

  /// Returns kCorrupt if `to` exists already or is not a valid name. A tensor `from` must exist.
  Result<void> rename(const std::string& from, std::string to);

  /// Keeps a file mapped for the tensors that view it.
  void keep(MappedFile file) { files_.push_back(std::move(file)); }
  uint64_t kept_bytes() const;

  /// Adds a note for the user: something in the file that is not among the tensors.
  void note(std::string line) { notes_.push_back(std::move(line)); }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Returns views sorted by name, valid while the list exists.
  std::vector<Tensor> tensors() const;
  bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Dtype dtype;
    Shape shape;
    std::span<const std::byte> bytes;
    std::vector<std::byte> own;  // owner of `bytes`, or empty
  };
  Result<void> check_name(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<MappedFile> files_;
  std::vector<std::string> notes_;
};

}  // namespace signalbox::weights
