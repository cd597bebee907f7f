// A field is a tag and a value. The tag is a varint: its low three bits are the wire type and the
// rest is the field number. A varint stores seven bits per byte, lowest first; the top bit is set
// in every byte except the last.

#include "base/protobuf.h"

#include <bit>

namespace signalbox::protobuf {
namespace {

constexpr uint64_t kNumberMax = (uint64_t{1} << 29) - 1;

std::string_view name_of(WireType type) {
  switch (type) {
    case WireType::kVarint:
      return "a varint";
    case WireType::kFixed64:
      return "8 bytes";
    case WireType::kBytes:
      return "a string";
    case WireType::kFixed32:
      return "4 bytes";
  }
  return "";
}

}  // namespace

Result<void> Field::expect(WireType type) const {
  if (type_ == type) return {};
  return fail(Code::kCorrupt, "field {}: expected {}, found {}", number_, name_of(type),
              name_of(type_));
}

Result<std::string_view> Field::bytes() const {
  SIGNALBOX_TRY_VOID(expect(WireType::kBytes));
  return bytes_;
}

Result<uint64_t> Field::varint() const {
  SIGNALBOX_TRY_VOID(expect(WireType::kVarint));
  return value_;
}

Result<bool> Field::boolean() const {
  SIGNALBOX_TRY(const uint64_t value, varint());
  if (value > 1) return fail(Code::kCorrupt, "field {}: expected 0 or 1, found {}", number_, value);
  return value == 1;
}

Result<int32_t> Field::int32() const {
  SIGNALBOX_TRY(const uint64_t value, varint());
  const auto number = static_cast<int64_t>(value);
  if (number != static_cast<int32_t>(number)) {
    return fail(Code::kCorrupt, "field {}: expected 32 bits, found {}", number_, number);
  }
  return static_cast<int32_t>(number);
}

Result<float> Field::float32() const {
  SIGNALBOX_TRY_VOID(expect(WireType::kFixed32));
  return std::bit_cast<float>(static_cast<uint32_t>(value_));
}

Result<uint64_t> Field::fixed64() const {
  SIGNALBOX_TRY_VOID(expect(WireType::kFixed64));
  return value_;
}

Result<std::optional<Field>> Reader::next() {
  if (position_ == message_.size()) return std::nullopt;
  const size_t begin = position_;
  SIGNALBOX_TRY(const uint64_t tag, read_varint());
  Field field;
  field.type_ = static_cast<WireType>(tag & 7);
  if (tag >> 3 == 0 || tag >> 3 > kNumberMax) {
    return fail(Code::kCorrupt, "offset {}: {} is not a field number", begin, tag >> 3);
  }
  field.number_ = static_cast<uint32_t>(tag >> 3);
  SIGNALBOX_TRY_VOID(read_value(field));
  return field;
}

Result<void> Reader::read_value(Field& field) {
  switch (field.type_) {
    case WireType::kVarint: {
      SIGNALBOX_TRY(field.value_, read_varint());
      return {};
    }
    case WireType::kFixed64: {
      SIGNALBOX_TRY(field.value_, read_fixed(8));
      return {};
    }
    case WireType::kFixed32: {
      SIGNALBOX_TRY(field.value_, read_fixed(4));
      return {};
    }
    case WireType::kBytes: {
      SIGNALBOX_TRY(const uint64_t size, read_varint());
      if (size > message_.size() - position_) {
        return fail(Code::kCorrupt, "offset {}: field {} claims {} bytes of the {} that follow",
                    position_, field.number_, size, message_.size() - position_);
      }
      field.bytes_ = message_.substr(position_, size);
      position_ += size;
      return {};
    }
  }
  return fail(Code::kCorrupt, "offset {}: field {} has wire type {}, expected 0, 1, 2 or 5",
              position_, field.number_, static_cast<int>(field.type_));
}

Result<uint64_t> Reader::read_varint() {
  const size_t begin = position_;
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && position_ < message_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(message_[position_++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return fail(Code::kCorrupt, "offset {}: an unterminated varint", begin);
}

void Writer::append(uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
  out_.push_back(static_cast<char>(value));
}

Writer& Writer::varint(uint32_t number, uint64_t value) {
  append(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kVarint));
  append(value);
  return *this;
}

Writer& Writer::fixed64(uint32_t number, uint64_t value) {
  append(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kFixed64));
  for (int shift = 0; shift < 64; shift += 8)
    out_.push_back(static_cast<char>(value >> shift & 0xFF));
  return *this;
}

Writer& Writer::float64(uint32_t number, double value) {
  return fixed64(number, std::bit_cast<uint64_t>(value));
}

Writer& Writer::bytes(uint32_t number, std::string_view value) {
  append(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kBytes));
  append(value.size());
  out_.append(value);
  return *this;
}

Result<uint64_t> Reader::read_fixed(size_t bytes) {
  if (bytes > message_.size() - position_) {
    return fail(Code::kCorrupt, "offset {}: expected {} bytes, found {}", position_, bytes,
                message_.size() - position_);
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(message_[position_++])) << (8 * i);
  }
  return value;
}

}  // namespace signalbox::protobuf
