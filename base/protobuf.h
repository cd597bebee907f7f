#pragma once
// Protocol buffers' wire format, field by field, for files and messages whose schema is known and
// small. A message is a view of bytes; a message inside it is the view that one of its fields
// holds. https://protobuf.dev/programming-guides/encoding

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::protobuf {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field. The accessors are kCorrupt when the wire type is another one.
class Field {
 public:
  uint32_t number() const { return number_; }
  WireType type() const { return type_; }

  /// A string, bytes, or a message: a view into the message that was read.
  Result<std::string_view> bytes() const;
  Result<uint64_t> varint() const;
  /// A varint that is one of 0 and 1.
  Result<bool> boolean() const;
  /// int32: a varint, negative ones in ten bytes.
  Result<int32_t> int32() const;
  Result<float> float32() const;
  /// fixed64, and the bits of a double.
  Result<uint64_t> fixed64() const;

 private:
  friend class Reader;
  Result<void> expect(WireType type) const;

  uint32_t number_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t value_ = 0;      // of the three that are numbers
  std::string_view bytes_;  // of kBytes
};

/// Walks the fields of one message in the order in which they stand.
class Reader {
 public:
  explicit Reader(std::string_view message) : message_(message) {}

  /// The next field; none at the end. kCorrupt with the offset in this message where the bytes make
  /// no field, and for groups, which proto2 gave up.
  Result<std::optional<Field>> next();

 private:
  Result<uint64_t> read_varint();
  Result<uint64_t> read_fixed(size_t bytes);
  Result<void> read_value(Field& field);

  std::string_view message_;
  size_t position_ = 0;
};

/// Makes a message. Fields may come in any order; those that a reader would take for granted (0,
/// false, "") are written all the same.
class Writer {
 public:
  Writer& varint(uint32_t number, uint64_t value);
  Writer& fixed64(uint32_t number, uint64_t value);
  Writer& float64(uint32_t number, double value);
  /// A string, bytes, or a message.
  Writer& bytes(uint32_t number, std::string_view value);
  Writer& message(uint32_t number, const Writer& value) { return bytes(number, value.out_); }

  bool empty() const { return out_.empty(); }
  std::string take() && { return std::move(out_); }

 private:
  void append(uint64_t value);
  std::string out_;
};

}  // namespace signalbox::protobuf
