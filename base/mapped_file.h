#pragma once
// A file mapped read-only into memory: weights and tokenizers are read in place and their pages are
// shared between processes that serve the same model.

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace signalbox {

/// Owns one mapping. Move-only. Reading the bytes is thread-safe; they stay valid until
/// destruction. A file that another process truncates while it is mapped raises SIGBUS on access:
/// replace model files by renaming a new one over them, as `signalbox models pull` does.
class MappedFile {
 public:
  /// Errors: kNotFound, or kIo with the system's reason. An empty file maps to no bytes.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;  // (size_)
  size_t size_ = 0;
};

}  // namespace signalbox
