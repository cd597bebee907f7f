#pragma once
// Writes and reads snapshots of the index: numbers in the byte order of x86 and ARM, followed by a
// checksum of everything before it.

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/file.h"

namespace signalbox::vector_index {

/// Detects accidental damage: 64 bits over words of eight bytes, the last one padded with zeros.
class Checksum {
 public:
  void add(std::string_view bytes);
  uint64_t value() const { return mix_word(state_, word_) ^ size_; }

 private:
  static uint64_t mix_word(uint64_t state, uint64_t word);

  uint64_t state_ = 0;
  uint64_t word_ = 0;  // the bytes after the last whole word
  uint64_t size_ = 0;
};

class SnapshotWriter {
 public:
  /// Only the owner may read the file, because vectors reveal something about their texts.
  explicit SnapshotWriter(const std::filesystem::path& path) : file_(path, Readers::kOwner) {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void put(std::string_view bytes);
  Result<void> commit();

 private:
  FileWriter file_;
  Checksum checksum_;
  std::string buffer_;
};

/// Reads bytes in memory; reading past the end gives kCorrupt.
class SnapshotReader {
 public:
  /// Errors: kCorrupt if the checksum does not match.
  static Result<SnapshotReader> open(std::string_view bytes);
  /// For bytes without a checksum.
  explicit SnapshotReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  Result<T> get() {
    static_assert(std::is_trivially_copyable_v<T>);
    SIGNALBOX_TRY(const std::string_view bytes, take(sizeof(T)));
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  Result<std::string_view> take(size_t size);
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace signalbox::vector_index
