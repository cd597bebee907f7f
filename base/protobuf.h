#pragma once
// Reads and writes the protocol buffer wire format field by field, for files and messages with a
// small, known schema. A message is a view of bytes. A nested message is the view held by one of
// its fields. https://protobuf.dev/programming-guides/encoding

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::protobuf {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field. Each accessor returns kCorrupt if the field has another wire type.
class Field {
 public:
  uint32_t number() const { return number_; }
  WireType type() const { return type_; }

  /// Returns a string, bytes or a message as a view into the outer message.
  Result<std::string_view> bytes() const;
  Result<uint64_t> varint() const;
  /// Returns a varint that must be 0 or 1.
  Result<bool> boolean() const;
  /// Returns an int32 encoded as a varint; negative values take ten bytes.
  Result<int32_t> int32() const;
  Result<float> float32() const;
  /// Returns a fixed64, or the bits of a double.
  Result<uint64_t> fixed64() const;

 private:
  friend class Reader;
  Result<void> expect(WireType type) const;

  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t value_ = 0;      // value of the three numeric types
  std::string_view bytes_;  // content of kBytes
};

/// Reads the fields of one message in order.
class Reader {
 public:
  explicit Reader(std::string_view message) : message_(message) {}

  /// Returns the next field, or nullopt at the end. Returns kCorrupt with the offset in this
  /// message if the bytes are not a field, or if they start a group (deprecated in proto2).
  Result<std::optional<Field>> next();

 private:
  Result<uint64_t> read_varint();
  Result<uint64_t> read_fixed(size_t bytes);
  Result<void> read_value(Field& field);

  std::string_view message_;
  size_t position_ = 0;
};

/// Builds a message. Fields may be added in any order. Default values (0, false, "") are written
/// too.
class Writer {
 public:
  Writer& varint(uint32_t number, uint64_t value);
  Writer& fixed64(uint32_t number, uint64_t value);
  Writer& float64(uint32_t number, double value);
  /// Writes a string, bytes or a message.
  Writer& bytes(uint32_t number, std::string_view value);
  Writer& message(uint32_t number, const Writer& value) { return bytes(number, value.out_); }

  bool empty() const { return out_.empty(); }
  size_t size() const { return out_.size(); }
  std::string take() && { return std::move(out_); }

 private:
  void append(uint64_t value);
  std::string out_;
};

}  // namespace signalbox::protobuf
