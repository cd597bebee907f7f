// Hand-written fields from the encoding guide.

#include "base/protobuf.h"

#include <gtest/gtest.h>

#include <string>

namespace signalbox::protobuf {
namespace {

using namespace std::string_literals;

Field one(const std::string& message) {
  Reader reader(message);
  const auto field = reader.next();
  EXPECT_TRUE(field && *field) << message;
  EXPECT_FALSE(reader.next().value());
  return **field;
}

std::string error_of(const std::string& message) {
  Reader reader(message);
  while (true) {
    const auto field = reader.next();
    if (!field) {
      EXPECT_EQ(field.error().code, Code::kCorrupt);
      return field.error().message;
    }
    if (!*field) return "none";
  }
}

TEST(Protobuf, reads_each_wire_type) {
  EXPECT_EQ(one("\x08\x96\x01").varint().value(), 150u);
  EXPECT_EQ(one("\x08\x96\x01").number(), 1u);
  EXPECT_EQ(one("\x12\x07testing").bytes().value(), "testing");
  EXPECT_EQ(one("\x15\0\0\x80\xBF"s).float32().value(), -1.0f);
  EXPECT_EQ(one("\x11\x01\0\0\0\0\0\0\0"s).type(), WireType::kFixed64);
  EXPECT_EQ(one("\x08\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01").int32().value(), -2);
  EXPECT_TRUE(one("\x08\x01").boolean().value());
  EXPECT_EQ(one("\xC2\x3E\x01x").number(), 1000u);
  EXPECT_EQ(error_of(""), "none");
}

TEST(Protobuf, walks_fields_in_order) {
  Reader reader("\x08\x01\x12\x01x\x08\x02");
  EXPECT_EQ(reader.next().value()->varint().value(), 1u);
  EXPECT_EQ(reader.next().value()->bytes().value(), "x");
  EXPECT_EQ(reader.next().value()->varint().value(), 2u);
  EXPECT_FALSE(reader.next().value());
}

TEST(Protobuf, names_the_wire_type_that_was_expected) {
  EXPECT_EQ(one("\x08\x01").bytes().error().message, "field 1: expected a string, found a varint");
  EXPECT_EQ(one("\x12\0"s).varint().error().message, "field 2: expected a varint, found a string");
  EXPECT_EQ(one("\x12\0"s).float32().error().message, "field 2: expected 4 bytes, found a string");
  EXPECT_EQ(one("\x08\x02").boolean().error().message, "field 1: expected 0 or 1, found 2");
  EXPECT_EQ(one("\x08\x80\x80\x80\x80\x10").int32().error().message,
            "field 1: expected 32 bits, found 4294967296");
}

TEST(Protobuf, written_messages_read_back) {
  Writer inner, out;
  inner.bytes(2, "testing");
  out.varint(1, 150)
      .varint(1000, 0)
      .varint(3, UINT64_MAX)
      .message(4, inner)
      .bytes(5, "")
      .float64(6, -2);
  const std::string message = std::move(out).take();
  EXPECT_TRUE(message.starts_with("\x08\x96\x01"));
  Reader reader(message);
  EXPECT_EQ(reader.next().value()->varint().value(), 150u);
  const auto zero = reader.next();
  EXPECT_EQ((*zero)->number(), 1000u);
  EXPECT_EQ((*zero)->varint().value(), 0u);
  EXPECT_EQ(reader.next().value()->varint().value(), UINT64_MAX);
  EXPECT_EQ(reader.next().value()->bytes().value(), "\x12\x07testing");
  EXPECT_EQ(reader.next().value()->bytes().value(), "");
  EXPECT_EQ(reader.next().value()->fixed64().value(), 0xC000'0000'0000'0000U);
  EXPECT_FALSE(reader.next().value());
}

TEST(Protobuf, bytes_that_make_no_field_are_errors_with_their_place) {
  EXPECT_EQ(error_of("\x08"), "offset 1: an unterminated varint");
  EXPECT_EQ(error_of("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
            "offset 1: an unterminated varint");
  EXPECT_EQ(error_of("\x12\x05"
                     "ab"),
            "offset 2: field 2 claims 5 bytes of the 2 that follow");
  EXPECT_EQ(error_of("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
            "offset 11: field 2 claims 18446744073709551615 bytes of the 0 that follow");
  EXPECT_EQ(error_of("\x15\x01\x02"), "offset 1: expected 4 bytes, found 2");
  EXPECT_EQ(error_of("\x0B"), "offset 1: field 1 has wire type 3, expected 0, 1, 2 or 5");
  EXPECT_EQ(error_of("\x02\x01x"), "offset 0: 0 is not a field number");
  EXPECT_EQ(error_of("\x80\x80\x80\x80\x10\x01"), "offset 0: 536870912 is not a field number");
}

}  // namespace
}  // namespace signalbox::protobuf
