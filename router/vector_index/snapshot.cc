// Buffering, bounds checks and the checksum of a snapshot.

#include "router/vector_index/snapshot.h"

#include <bit>

namespace signalbox::vector_index {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;

}  // namespace

uint64_t Checksum::mix_word(uint64_t state, uint64_t word) {
  return std::rotl((state ^ word) * 0x9e37'79b9'7f4a'7c15, 29);
}

void Checksum::add(std::string_view bytes) {
  const auto add_byte = [&] {
    const uint64_t byte = static_cast<unsigned char>(bytes.front());
    word_ |= byte << (8 * (size_ % 8));
    bytes.remove_prefix(1);
    if (++size_ % 8 != 0) return;
    state_ = mix_word(state_, word_);
    word_ = 0;
  };
  while (size_ % 8 != 0 && !bytes.empty()) add_byte();
  for (; bytes.size() >= 8; bytes.remove_prefix(8), size_ += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state_ = mix_word(state_, word);
  }
  while (!bytes.empty()) add_byte();
}

void SnapshotWriter::put(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() < kBuffer) return;
  checksum_.add(buffer_);
  file_.append(buffer_);
  buffer_.clear();
}

Result<void> SnapshotWriter::commit() {
  checksum_.add(buffer_);
  const uint64_t sum = checksum_.value();
  buffer_.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  file_.append(buffer_);
  return file_.commit();
}

Result<SnapshotReader> SnapshotReader::open(std::string_view bytes) {
  uint64_t sum = 0;
  if (bytes.size() < sizeof sum) {
    return fail(Code::kCorrupt, "a snapshot of {} bytes is too short", bytes.size());
  }
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  bytes.remove_suffix(sizeof sum);
  Checksum found;
  found.add(bytes);
  if (found.value() != sum) {
    return fail(Code::kCorrupt, "the checksum of {} bytes does not match: truncated or changed",
                bytes.size());
  }
  return SnapshotReader(bytes);
}

Result<std::string_view> SnapshotReader::take(size_t size) {
  if (size > bytes_.size()) {
    return fail(Code::kCorrupt, "the snapshot is {} bytes too short", size - bytes_.size());
  }
  const std::string_view out = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return out;
}

}  // namespace signalbox::vector_index
