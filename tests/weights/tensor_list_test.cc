// TensorList, the writer that takes its tensors, and files combined by an index.

#include "weights/tensor_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "weights/safetensors.h"
#include "weights/safetensors_writer.h"
#include "weights/shard_index.h"

namespace signalbox::weights {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> some_bytes(size_t n) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i * 7 + 1);
  return out;
}

class Files : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  // Writes one F32 tensor of two numbers.
  void write_shard(const std::string& name, const std::string& tensor) const {
    TensorList list;
    ASSERT_TRUE(list.add(tensor, Dtype::kF32, {2}, some_bytes(8)));
    const auto written = write_safetensors(folder_ / name, list.tensors());
    ASSERT_TRUE(written) << written.error().message;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / fmt::format("signalbox-weights-{}", ::getpid());
};

TEST(TensorList, keeps_names_sorted_and_bytes_in_place_when_it_moves) {
  TensorList list;
  const std::vector<std::byte> outside = some_bytes(2);
  ASSERT_TRUE(list.add("b", Dtype::kF16, {1}, std::span(outside)));
  ASSERT_TRUE(list.add("a", Dtype::kF32, {1, 2}, some_bytes(8)));
  ASSERT_TRUE(list.rename("b", "0"));
  const TensorList moved = std::move(list);
  const auto tensors = moved.tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "0");
  EXPECT_EQ(tensors[0].bytes.data(), outside.data());
  EXPECT_EQ(shape_text(tensors[1].shape), "[1, 2]");
  EXPECT_TRUE(std::ranges::equal(tensors[1].bytes, some_bytes(8)));
}

TEST(TensorList, refuses_impossible_tensors) {
  TensorList list;
  ASSERT_TRUE(list.add("a", Dtype::kU8, {1}, some_bytes(1)));
  const auto message = [&](const std::string& name, const Shape& shape, size_t bytes) {
    const auto added = list.add(name, Dtype::kF32, shape, some_bytes(bytes));
    return added ? "" : added.error().message;
  };
  EXPECT_EQ(message("a", {1}, 4), "tensor \"a\" appears twice");
  EXPECT_EQ(message("", {1}, 4), "a tensor without a name");
  EXPECT_EQ(message("x\x1b[2J", {1}, 4), "a tensor's name has the byte 0x1b at 1");
  EXPECT_EQ(message("b", {2}, 4), "tensor \"b\": F32 of shape [2] takes 8 bytes, found 4");
  EXPECT_EQ(message("b", {-1}, 4), "tensor \"b\": shape: expected at least 0, found -1");
  EXPECT_EQ(message("b", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 4),
            "tensor \"b\": shape: more than 8 dimensions");
  EXPECT_EQ(message("b", {INT64_MAX, 1}, 4),
            "tensor \"b\": shape [9223372036854775807, 1] has more elements than fit");
  EXPECT_EQ(list.rename("a", "").error().message, "a tensor without a name");
  EXPECT_EQ(list.size(), 1u);
}

TEST_F(Files, are_written_aligned_and_read_back_the_same) {
  TensorList list;
  ASSERT_TRUE(list.add("half", Dtype::kF16, {3}, some_bytes(6)));
  ASSERT_TRUE(list.add("byte", Dtype::kU8, {1}, some_bytes(1)));
  ASSERT_TRUE(list.add("wide \"quoted\"", Dtype::kI64, {2}, some_bytes(16)));
  ASSERT_TRUE(list.add("none", Dtype::kF32, {0, 4}, some_bytes(0)));
  const auto path = folder_ / "model.safetensors";
  const auto written = write_safetensors(path, list.tensors());
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_FALSE(fs::exists(folder_ / "model.safetensors.partial"));
  const auto back = SafeTensors::open(path);
  ASSERT_TRUE(back) << back.error().message;
  const auto tensors = list.tensors();
  ASSERT_EQ(back->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(back->tensors()[i].name, tensors[i].name);
    EXPECT_EQ(back->tensors()[i].dtype, tensors[i].dtype);
    EXPECT_TRUE(std::ranges::equal(back->tensors()[i].bytes, tensors[i].bytes));
  }
  EXPECT_EQ((fs::file_size(path) - 16 - 6 - 1) % 64, 0u);  // the data begins at a multiple of 64
}

TEST_F(Files, a_failed_write_keeps_the_old_file) {
  const auto path = write("model.safetensors", "old");
  fs::create_directory(folder_ / "model.safetensors.partial");
  EXPECT_EQ(write_safetensors(path, {}).error().message, path.string() + ": cannot be written");
  EXPECT_EQ(fs::file_size(path), 3u);
}

TEST_F(Files, the_files_of_an_index_open_as_one) {
  write_shard("1.safetensors", "a");
  write_shard("2.safetensors", "b");
  const auto index = write("model.safetensors.index.json",
                           R"({"metadata": {}, "weight_map": {"a": "1.safetensors",)"
                           R"( "b": "2.safetensors"}})");
  for (const auto& opened :
       {SafeTensors::open_index(index), SafeTensors::open_directory(folder_)}) {
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_EQ(opened->tensors().size(), 2u);
    EXPECT_TRUE(std::ranges::equal(opened->find("b", {2})->bytes, some_bytes(8)));
  }
  EXPECT_EQ(SafeTensors::open_index(index)->find("c", {1}).error().message,
            index.string() + ": tensor \"c\" is missing, expected shape [1]");
}

// bert-base-uncased has these names.
TEST_F(Files, older_names_of_a_directory_are_read_as_todays) {
  write_shard("model.safetensors", "bert.embeddings.LayerNorm.gamma");
  auto opened = SafeTensors::open_directory(folder_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(opened->find("bert.embeddings.LayerNorm.weight", {2}));

  TensorList list;
  ASSERT_TRUE(list.add("LayerNorm.beta", Dtype::kF32, {1}, some_bytes(4)));
  ASSERT_TRUE(list.add("LayerNorm.bias", Dtype::kF32, {1}, some_bytes(4)));
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", list.tensors()));
  opened = SafeTensors::open_directory(folder_);
  ASSERT_FALSE(opened);
  const std::string file = (folder_ / "model.safetensors").string();
  EXPECT_TRUE(opened.error().message.starts_with(file + ": ")) << opened.error().message;
}

TEST_F(Files, bad_files_of_an_index_are_refused_by_name) {
  write_shard("1.safetensors", "a");
  write_shard("2.safetensors", "a");
  const struct {
    const char* text;
    std::string message;
  } cases[] = {
      {"[]", "weight_map: expected an object"},
      {R"({"weight_map": {}})", "weight_map: does not name a tensor"},
      {R"({"weight_map": {"a": 1}})", "weight_map: \"a\": expected a string"},
      {R"({"weight_map": {"a": "../1.safetensors"}})",
       "weight_map: \"a\": \"../1.safetensors\" is not a plain file name"},
      {R"({"weight_map": {"a": "/etc/passwd"}})",
       "weight_map: \"a\": \"/etc/passwd\" is not a plain file name"},
      {R"({"weight_map": {"a": ".."}})", "weight_map: \"a\": \"..\" is not a plain file name"},
      {R"({"weight_map": {"a": ""}})", "weight_map: \"a\": \"\" is not a plain file name"},
      {R"({"weight_map": {"a": "x\u0000y"}})",
       "weight_map: \"a\": a file's name has control characters"},
      {R"({"weight_map": {"a": "1.safetensors", "a": "1.safetensors"}})",
       "weight_map: \"a\": appears twice"},
      {R"({"weight_map": {"b": "1.safetensors"}})",
       "tensor \"b\" is missing, expected in \"1.safetensors\""},
  };
  for (const auto& [text, message] : cases) {
    const auto index = write("x.index.json", text);
    const auto opened = SafeTensors::open_index(index);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().message, fmt::format("{}: {}", index.string(), message));
  }
  const auto twice =
      write("x.index.json", R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  EXPECT_EQ(SafeTensors::open_index(twice).error().message,
            (folder_ / "2.safetensors").string() + ": tensor \"a\" appears twice");
  const auto gone = write("x.index.json", R"({"weight_map": {"a": "3.safetensors"}})");
  EXPECT_EQ(SafeTensors::open_index(gone).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace signalbox::weights
