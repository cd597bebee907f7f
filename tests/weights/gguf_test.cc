// The GGUF reader: contents of a file, each block type compared with its formula, and false claims.

#include "weights/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/weights/foreign_files.h"
#include "tests/weights/hostile.h"

namespace signalbox::weights {
namespace {

constexpr const char* kGgufName = "test.gguf";

Result<Gguf> parse_gguf_file(const std::string& file) {
  return Gguf::parse(std::as_bytes(std::span(file)), kGgufName);
}

// Runs everything that a converter needs.
Result<TensorList> convert(const std::string& bytes) {
  SIGNALBOX_TRY(const Gguf file, parse_gguf_file(bytes));
  SIGNALBOX_TRY(TensorList out, gguf_tensors(file));
  SIGNALBOX_TRY_VOID(rename_gguf_tensors(file, out));
  return out;
}

std::vector<float> gguf_values(const Tensor& tensor) {
  std::vector<float> out(tensor.size());
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

TEST(Gguf, reads_metadata_of_every_type) {
  GgufWriter file = small_gguf_keys();
  const auto typed = [](uint32_t type, const std::string& value) {
    return bytes_of<uint32_t>({type}).append(value);
  };
  file.raw("i8", typed(1, bytes_of<int8_t>({-3}))).raw("u64", typed(10, bytes_of<uint64_t>({9})));
  file.raw("yes", typed(7, "\x01")).raw("f64", typed(12, bytes_of<double>({0.25})));
  file.raw("list", typed(9, bytes_of<uint32_t>({5}) + bytes_of<uint64_t>({2}) +
                                bytes_of<int32_t>({7, -8})));
  const std::string bytes = file.file(2);
  const auto read = parse_gguf_file(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->get<std::string_view>("general.architecture"), "bert");
  EXPECT_EQ(read->get<int64_t>("bert.block_count"), 1);
  EXPECT_EQ(read->get<int64_t>("i8"), -3);
  EXPECT_EQ(read->get<int64_t>("u64"), 9);
  EXPECT_EQ(read->get<bool>("yes"), true);
  EXPECT_EQ(read->get<double>("f64"), 0.25);
  EXPECT_EQ(read->get<std::vector<int64_t>>("list"), (std::vector<int64_t>{7, -8}));
  EXPECT_EQ(read->get<std::vector<std::string_view>>("tokenizer.ggml.tokens")->size(), 6u);
  EXPECT_EQ(read->get<bool>("i8").error().message, "test.gguf: metadata \"i8\" has another type");
  EXPECT_EQ(read->get<bool>("none").error().message, "test.gguf: metadata \"none\" is missing");
}

TEST(Gguf, gives_tensors_their_names_and_shapes) {
  const std::string file = small_gguf();
  const auto list = convert(file);
  ASSERT_TRUE(list) << list.error().message;
  const auto tensors = list->tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "embeddings.word_embeddings.weight");
  EXPECT_EQ(shape_text(tensors[0].shape), "[6, 2]");
  EXPECT_EQ(gguf_values(tensors[0])[11], 12.0f);
  EXPECT_EQ(tensors[1].name, "encoder.layer.0.output.dense.weight");
  EXPECT_EQ(shape_text(tensors[1].shape), "[2, 32]");
  EXPECT_EQ(gguf_values(tensors[1])[33], -7.5f);
}

TEST(Gguf, widens_every_type_of_blocks) {
  // d = 0.5, m = -2. Number j is j in the low halves and 15 - j in the high ones. With five bits,
  // 16 more where j is a multiple of three.
  const std::string d = bytes_of<uint16_t>({0x3800}), m = bytes_of<uint16_t>({0xC000});
  std::string nibbles, bytes, fifth = bytes_of<uint32_t>({0b01001001001001001001001001001001});
  for (int j = 0; j < 16; ++j) nibbles.push_back(static_cast<char>(j | (15 - j) << 4));
  for (int j = 0; j < 32; ++j) bytes.push_back(static_cast<char>(j * 8 - 128));
  const struct {
    uint32_t type;
    std::string block;
    float (*expected)(int low, int five, int j);
  } cases[] = {
      {2, d + nibbles, [](int low, int, int) { return 0.5f * static_cast<float>(low - 8); }},
      {3, d + m + nibbles, [](int low, int, int) { return 0.5f * static_cast<float>(low) - 2; }},
      {6, d + fifth + nibbles,
       [](int low, int five, int) { return 0.5f * static_cast<float>(low + five - 16); }},
      {7, d + m + fifth + nibbles,
       [](int low, int five, int) { return 0.5f * static_cast<float>(low + five) - 2; }},
      {8, d + bytes, [](int, int, int j) { return 0.5f * static_cast<float>(j * 8 - 128); }},
  };
  for (const auto& one : cases) {
    GgufWriter file = small_gguf_keys();
    file.tensor("blk.0.ffn_up.weight", {32, 1}, one.type, one.block);
    const std::string whole = file.file();
    const auto list = convert(whole);
    ASSERT_TRUE(list) << list.error().message;
    const auto found = gguf_values(list->tensors()[0]);
    for (int j = 0; j < 32; ++j) {
      const int low = j < 16 ? j : 31 - j;
      EXPECT_EQ(found[j], one.expected(low, j % 3 == 0 ? 16 : 0, j)) << one.type << " " << j;
    }
  }
}

TEST(Gguf, refuses_files_cut_at_every_byte) {
  expect_cut_files_fail(small_gguf(), kGgufName, convert);
}

TEST(Gguf, names_the_wrong_value_of_an_inconsistent_file) {
  const auto magic = [](uint32_t version, uint64_t tensors, uint64_t keys) {
    return std::string("GGUF") + bytes_of<uint32_t>({version}) +
           bytes_of<uint64_t>({tensors, keys});
  };
  const auto keys = [] { return small_gguf_keys(); };
  const auto tensor = [&](const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    return keys().tensor_at("token_embd.weight", dims, type, offset).file();
  };
  const std::string eight(8, '1'), t = "tensor \"token_embd.weight\": ";
  expect_messages(
      {{"GGML" + eight, "does not begin with \"GGUF\""},
       {magic(1, 0, 0), "version 1 is not supported (supported: 2 and 3, little-endian)"},
       {magic(3 << 24, 0, 0),
        "version 50331648 is not supported (supported: 2 and 3, little-endian)"},
       {magic(3, UINT64_MAX, 0), "offset 8: 18446744073709551615 tensors, at most 65536 are read"},
       {magic(3, 0, UINT64_MAX), "offset 16: 18446744073709551615 keys, at most 65536 are read"},
       {magic(3, 0, 1) + bytes_of<uint64_t>({1 << 30}) + eight,
        "offset 32: a string claims 1073741824 bytes of the 8 that follow"},
       {keys().raw("k", bytes_of<uint32_t>({13})).file(),
        "metadata \"k\": type 13 is not a type of the format"},
       {keys().raw("k", bytes_of<uint32_t>({7, 2})).file(),
        "metadata \"k\": offset 475: expected 0 or 1, found 2"},
       {keys().raw("k", bytes_of<uint32_t>({9, 9}) + eight).file(),
        "metadata \"k\": offset 479: 3544668469065756977 elements of an array, at most 4194304 are "
        "read"},
       {keys().raw("k", bytes_of<uint32_t>({9, 9}) + bytes_of<uint64_t>({1})).file(),
        "metadata \"k\": an array of type 9 is not supported"},
       {keys().raw("k", bytes_of<uint32_t>({10}) + bytes_of<uint64_t>({UINT64_MAX})).file(),
        "metadata \"k\": 18446744073709551615 does not fit 63 bits"},
       {keys().u32("bert.block_count", 1).file(), "metadata \"bert.block_count\" appears twice"},
       {keys().u32("general.alignment", 0).file(),
        "general.alignment: expected a power of two to 1048576"},
       {keys().string("general.alignment", "32").file(),
        "general.alignment: expected a power of two to 1048576"},
       {tensor({2, 2, 2, 2, 2}, 0, 0), t + "5 dimensions, at most 4"},
       {tensor({UINT64_MAX}, 0, 0), t + "18446744073709551615 does not fit 63 bits"},
       {tensor({INT64_MAX, 2}, 0, 0),
        t + "shape [2, 9223372036854775807] has more elements than fit"},
       {tensor({256}, 14, 0),
        t + "Q6_K is not supported (supported: F32, F16, BF16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0)"},
       {tensor({256}, 99, 0), t + "type 99 is not supported"},
       {tensor({33, 32}, 8, 0), t + "Q8_0 of shape [32, 33]: rows are not a multiple of 32"},
       {tensor({2}, 0, 0), t + "8 bytes from 0 on, the data has 0"},
       {tensor({2}, 0, 7), t + "offset 7 is not a multiple of 32"},
       {tensor({2}, 0, UINT64_MAX - 31),
        t + "8 bytes from 18446744073709551584 on, the data has 0"},
       {keys()
            .tensor("token_embd.weight", {8}, 0, eight + eight + eight + eight)
            .tensor_at("token_types.weight", {1}, 0, 0)
            .file(),
        "tensor \"token_types.weight\": begins at 0 of the data, inside another"},
       {keys().tensor("../x", {2}, 0, eight).file(),
        "tensor \"../x\" is not part of a supported \"bert\""},
       {keys().tensor("blk.x.attn_q.weight", {2}, 0, eight).file(),
        "tensor \"blk.x.attn_q.weight\" is not part of a supported \"bert\""},
       {keys()
            .tensor("token_embd.weight", {2}, 0, eight)
            .tensor("token_embd.weight", {2}, 0, eight)
            .file(),
        "tensor \"token_embd.weight\" appears twice"},
       {small_gguf_keys("nomic-bert").file(),
        "general.architecture: \"nomic-bert\" is not supported (supported: \"bert\")"},
       {small_gguf_keys("modern-bert").file(),
        "general.architecture: \"modern-bert\" is not supported (supported: \"bert\")"}},
      kGgufName, convert);
}

}  // namespace
}  // namespace signalbox::weights
