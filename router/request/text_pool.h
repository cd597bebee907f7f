#pragma once
// Keeps texts that a request makes of its parts. Small ones share a buffer, because a request may
// have many of them, and an allocation for each would take more than its text.

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::request {

/// Move-only; the views stay valid after a move.
class TextPool {
 public:
  /// Returns a view of the text, which lives as long as the pool.
  std::string_view keep(std::string text) {
    if (text.empty()) return {};
    if (text.size() > kSmallMax) {
      if (text.capacity() > text.size() + text.size() / kSlackShare) text.shrink_to_fit();
      return *large_.emplace_back(std::make_unique<std::string>(std::move(text)));
    }
    if (text.size() > room_) {
      buffers_.push_back(std::make_unique<char[]>(kBufferBytes));
      room_ = kBufferBytes;
    }
    char* const at = buffers_.back().get() + (kBufferBytes - room_);
    std::memcpy(at, text.data(), text.size());
    room_ -= text.size();
    return {at, text.size()};
  }
  size_t memory_bytes() const {
    size_t out = buffers_.size() * kBufferBytes;
    for (const auto& text : large_) out += sizeof(std::string) + text->capacity();
    return out;
  }

 private:
  static constexpr size_t kBufferBytes = 4096;
  static constexpr size_t kSmallMax = 512;
  static constexpr size_t kSlackShare = 8;  // more unused memory than this share is given back

  std::vector<std::unique_ptr<char[]>> buffers_;
  size_t room_ = 0;                                  // in the last buffer
  std::vector<std::unique_ptr<std::string>> large_;  // the texts stay in place when it grows
};

}  // namespace signalbox::request
