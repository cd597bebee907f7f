// The safetensors reader: a well-formed file is read, and each possible false claim of a header is
// rejected by name.

#include "weights/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace signalbox::weights {
namespace {

std::string safetensors_of(std::string_view header, size_t data_bytes) {
  std::string out(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(out.data(), &length, 8);
  out += header;
  for (size_t i = 0; i < data_bytes; ++i) out.push_back(static_cast<char>(i));
  return out;
}

Result<SafeTensors> parse_safetensors_file(const std::string& file) {
  return SafeTensors::parse(std::as_bytes(std::span(file)), "test.safetensors");
}

TEST(SafeTensors, reads_tensors_in_any_order_with_metadata) {
  const std::string file = safetensors_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,1],"data_offsets":[8,12]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"c":{"dtype":"I64","shape":[0],"data_offsets":[12,12]}})",
      12);
  const auto tensors = parse_safetensors_file(file);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->tensors().size(), 3u);
  const auto b = tensors->find("b", {2, 1});
  ASSERT_TRUE(b);
  EXPECT_EQ(b->dtype, Dtype::kF16);
  EXPECT_EQ(b->bytes.data() - reinterpret_cast<const std::byte*>(file.data()),
            static_cast<ptrdiff_t>(file.size() - 4));
}

TEST(SafeTensors, widens_every_floating_type) {
  std::string file = safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("b":{"dtype":"F16","shape":[1],"data_offsets":[4,6]},)"
                                    R"("c":{"dtype":"BF16","shape":[1],"data_offsets":[6,8]},)"
                                    R"("d":{"dtype":"I8","shape":[1],"data_offsets":[8,9]}})",
                                    9);
  const float one_and_half = 1.5f;
  std::memcpy(file.data() + file.size() - 9, &one_and_half, 4);
  std::memcpy(file.data() + file.size() - 5, "\x00\x3E\xC0\x3F", 4);
  const auto tensors = parse_safetensors_file(file);
  ASSERT_TRUE(tensors) << tensors.error().message;
  const kernels::Table& kernels = **kernels::table_of("base");
  for (const char* name : {"a", "b", "c"}) {
    float value = 0;
    ASSERT_TRUE(tensors->read(name, {1}, kernels, {&value, 1}));
    EXPECT_EQ(value, 1.5f) << name;
  }
  float value = 0;
  const auto integers = tensors->read("d", {1}, kernels, {&value, 1});
  ASSERT_FALSE(integers);
  EXPECT_EQ(integers.error().message,
            "test.safetensors: tensor \"d\" is I8; F32, F16 and BF16 are read");
}

TEST(SafeTensors, names_a_missing_tensor_and_a_wrong_shape) {
  const std::string file =
      safetensors_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  const auto tensors = parse_safetensors_file(file);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(tensors->find("w", {30522, 384}).error().message,
            "test.safetensors: tensor \"w\" is missing, expected shape [30522, 384]");
  EXPECT_EQ(tensors->find("a", {1, 2}).error().message,
            "test.safetensors: tensor \"a\" has shape [2], expected [1, 2]");
}

struct Lie {
  const char* header;
  size_t data_bytes;
  const char* message;
};

TEST(SafeTensors, names_the_wrong_value_of_an_inconsistent_file) {
  const Lie lies[] = {
      {R"([])", 0, "header: expected a JSON object"},
      {R"({"a":1})", 0, "tensor \"a\": dtype: expected a string"},
      {R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1,
       "tensor \"a\": unknown dtype \"F8\""},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4,
       "tensor \"a\": shape: expected an array of integers"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
       "tensor \"a\": shape: expected at least 0, found -1"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4,
       "tensor \"a\": shape: expected an integer, found 1.5"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
       "tensor \"a\": shape: more than 8 dimensions"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
       "tensor \"a\": shape [4294967296, 4294967296] has more elements than fit"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4,
       "tensor \"a\": data_offsets: expected two integers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4,
       "tensor \"a\": data_offsets: expected two integers"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
       "tensor \"a\": data_offsets [4, 0] do not lie within the 4 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4,
       "tensor \"a\": data_offsets [0, 8] do not lie within the 4 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "tensor \"a\": F32 of shape [2] takes 8 bytes, data_offsets [0, 4] give 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
       "tensor \"a\": data_offsets begin at 4, expected 0: tensors must follow each other without "
       "gap or overlap"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8,
       "tensor \"b\": data_offsets begin at 4, expected 8: tensors must follow each other without "
       "gap or overlap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 6,
       "tensors end at byte 4 of the data, the file has 6"},
      {R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
       0, "tensor \"a\" appears twice"},
  };
  for (const Lie& lie : lies) {
    const auto tensors = parse_safetensors_file(safetensors_of(lie.header, lie.data_bytes));
    ASSERT_FALSE(tensors) << lie.header;
    EXPECT_EQ(tensors.error().message, std::string("test.safetensors: ") + lie.message);
  }
}

TEST(SafeTensors, refuses_files_cut_at_every_byte) {
  const std::string file =
      safetensors_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t n = 0; n < file.size(); ++n) {
    const auto tensors = parse_safetensors_file(file.substr(0, n));
    ASSERT_FALSE(tensors) << n;
    EXPECT_NE(tensors.error().message.find("test.safetensors"), std::string::npos);
  }
  std::string huge = file;
  huge[7] = '\x7F';
  EXPECT_NE(parse_safetensors_file(huge).error().message.find(
                "claims a header of 9151314442816847926 bytes"),
            std::string::npos)
      << parse_safetensors_file(huge).error().message;
}

TEST(SafeTensors, opens_a_file_and_keeps_it_mapped) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("signalbox-{}.safetensors", ::getpid());
  std::ofstream(path, std::ios::binary)
      << safetensors_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 3);
  auto opened = SafeTensors::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(opened) << opened.error().message;
  const SafeTensors moved = std::move(*opened);
  EXPECT_EQ(moved.find("a", {3})->bytes[2], std::byte{2});
  EXPECT_EQ(SafeTensors::open(path).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace signalbox::weights
