#pragma once
// Maps a file read-only into memory. Weights and tokenizers are read in place, and processes that
// serve the same model share the pages.

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace signalbox {

/// Owns one mapping. Move-only. Reading is thread-safe, and the bytes stay valid until destruction.
/// If another process truncates the mapped file, access raises SIGBUS. Replace model files by
/// renaming a new file over them, as `signalbox models pull` does.
class MappedFile {
 public:
  /// Errors: kNotFound, or kIo with the system's message. An empty file maps to zero bytes.
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
