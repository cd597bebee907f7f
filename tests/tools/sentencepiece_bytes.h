#pragma once
// Writes sentencepiece models for tests, valid and invalid.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::tools {

inline std::string proto_varint(uint32_t number, uint64_t value) {
  std::string out;
  for (uint64_t rest : {static_cast<uint64_t>(number << 3), value}) {
    for (; rest >= 0x80; rest >>= 7) out.push_back(static_cast<char>(rest | 0x80));
    out.push_back(static_cast<char>(rest));
  }
  return out;
}

inline std::string proto_message(uint32_t number, std::string_view bytes) {
  std::string out = proto_varint(number, bytes.size());
  out[0] = static_cast<char>(out[0] | 2);
  return out.append(bytes);
}

/// `type` is one of SentencePieceModel::PieceType.
inline std::string piece_bytes(std::string_view text, float score = 0, int type = 1) {
  std::string body = proto_message(1, text) + '\x15';
  const auto bits = std::bit_cast<uint32_t>(score);
  for (int i = 0; i < 4; ++i) body.push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
  return proto_message(1, body + proto_varint(3, static_cast<uint64_t>(type)));
}

}  // namespace signalbox::tools
