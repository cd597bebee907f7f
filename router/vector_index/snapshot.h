#pragma once
// How a snapshot of the index is written and read: numbers as x86 and ARM keep them, and at the end
// a checksum of all before it.

#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/file.h"

namespace signalbox::vector_index {

/// A mark of damage by accident: 64 bits over words of eight bytes, the last filled up with zeros.
class Checksum {
 public:
  void add(std::string_view bytes);
  uint64_t value() const { return mixed(state_, word_) ^ size_; }

 private:
  static uint64_t mixed(uint64_t state, uint64_t word);

  uint64_t state_ = 0;
  uint64_t word_ = 0;  // of the bytes after the last whole word
  uint64_t size_ = 0;
};

class SnapshotWriter {
 public:
  /// The file is for its owner alone: vectors tell what they were made of.
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

/// Reads what lies in memory; past the end is kCorrupt.
class SnapshotReader {
 public:
  /// Errors: kCorrupt where the checksum does not fit.
  static Result<SnapshotReader> open(std::string_view bytes);
  /// Of bytes without a checksum.
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
