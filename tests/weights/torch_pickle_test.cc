// The reader of PyTorch checkpoints: views of storages are restored, and false claims in the zip
// file or the pickle, and unknown names, are rejected.

#include "weights/torch_pickle.h"

#include <gtest/gtest.h>

#include "tests/weights/foreign_files.h"
#include "tests/weights/hostile.h"

namespace signalbox::weights {
namespace {

using namespace std::string_literals;

constexpr const char* kTorchName = "test.bin";

Result<TensorList> parse_torch_file(const std::string& file) {
  TensorList out;
  SIGNALBOX_TRY_VOID(read_torch(out, std::as_bytes(std::span(file)), kTorchName));
  return out;
}

std::vector<float> torch_values(const Tensor& tensor) {
  std::vector<float> out(tensor.size());
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

// A checkpoint with one F32 tensor.
std::string one(const TorchTensor& tensor, size_t storage_bytes = 24) {
  return torch_file(torch_pickle({tensor}), {{"0", std::string(storage_bytes, '1')}});
}

std::string with_pickle(const std::string& pickle) {
  return torch_file(pickle, {{"0", std::string(24, '1')}});
}

TEST(TorchPickle, reads_views_of_a_storage) {
  for (const std::string& file : {small_torch(), small_old_torch()}) {
    const auto list = parse_torch_file(file);
    ASSERT_TRUE(list) << list.error().message;
    const auto tensors = list->tensors();
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(torch_values(tensors[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(shape_text(tensors[1].shape), "[3, 2]");
    EXPECT_EQ(torch_values(tensors[1]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  }
}

TEST(TorchPickle, reads_every_type_of_storage_and_shapes_that_are_odd) {
  const struct {
    const char* type;
    size_t bytes;
    Dtype dtype;
  } types[] = {{"HalfStorage", 2, Dtype::kF16},   {"BFloat16Storage", 2, Dtype::kBF16},
               {"DoubleStorage", 8, Dtype::kF64}, {"LongStorage", 8, Dtype::kI64},
               {"IntStorage", 4, Dtype::kI32},    {"ShortStorage", 2, Dtype::kI16},
               {"CharStorage", 1, Dtype::kI8},    {"ByteStorage", 1, Dtype::kU8},
               {"BoolStorage", 1, Dtype::kBool}};
  for (const auto& type : types) {
    const std::string file = one({"a", type.type, "0", 4, 1, {1, 2, 1}, {9, 2, 5}}, 4 * type.bytes);
    const auto list = parse_torch_file(file);
    ASSERT_TRUE(list) << list.error().message;
    const Tensor tensor = list->tensors()[0];
    EXPECT_EQ(tensor.dtype, type.dtype);
    EXPECT_EQ(tensor.bytes.size(), 2 * type.bytes);
  }
  const std::string scalar = one({"s", "FloatStorage", "0", 6, 5, {}, {}});
  EXPECT_EQ(parse_torch_file(scalar)->tensors()[0].bytes.size(), 4u);
  const std::string empty = one({"e", "FloatStorage", "0", 6, 0, {0, 9}, {9, 1}});
  EXPECT_EQ(parse_torch_file(empty)->tensors()[0].bytes.size(), 0u);
}

TEST(TorchPickle, reads_a_zip_file_without_the_records_of_zip64) {
  const std::string file =
      zip_file({{"data.pkl", torch_pickle({{"a", "FloatStorage", "0", 6, 0, {6}, {1}}})},
                {"data/0", std::string(24, '1')}},
               false);
  const auto list = parse_torch_file(file);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->size(), 1u);
}

TEST(TorchPickle, reads_the_state_dict_of_a_checkpoint_and_notes_values_that_are_not_tensors) {
  const std::string file =
      with_pickle("\x80\x02}(X\x05\0\0\0epochK\x03X\x0a\0\0\0state_dict}(X\x01\0\0\0aNuu."s);
  const auto list = parse_torch_file(file);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->size(), 0u);
  EXPECT_EQ(list->notes(), std::vector<std::string>{"left out \"a\": not a tensor"});
}

TEST(TorchPickle, refuses_files_cut_at_every_byte) {
  expect_cut_files_fail(small_torch(), kTorchName, parse_torch_file);
  expect_cut_files_fail(small_old_torch(), kTorchName, parse_torch_file);
}

TEST(TorchPickle, names_the_wrong_value_of_an_inconsistent_old_file) {
  const auto pickle = [](const char* key) {
    return torch_pickle({{"a", "FloatStorage", key, 6, 0, {6}, {1}}}, true);
  };
  const std::string keys = "\x80\x02](X\x01\0\0\0000e."s;
  const std::string storage = bytes_of<int64_t>({6}).append(24, '1');
  const auto file = old_torch_file(pickle("0"), keys, storage);
  ASSERT_TRUE(parse_torch_file(file)) << parse_torch_file(file).error().message;
  expect_messages(
      {{std::string(file).replace(18, 1, "\xea"),
        "version 1002 is not supported (supported: 1001)"},
       {std::string(file).replace(43, 1, "\x89"),
        "numbers that are not little-endian are not supported"},
       {old_torch_file(pickle("1"), keys, storage), "storage 0: no tensor is in it"},
       {old_torch_file(pickle("0"), keys, bytes_of<int64_t>({7}) + storage),
        "storage 0: 7 elements, a tensor claims 6"},
       {old_torch_file(pickle("0"), "\x80\x02].", storage),
        "tensor \"a\": its storage 0 is missing"},
       {old_torch_file(pickle("0"), "\x80\x02](X\x01\0\0\0000X\x01\0\0\0000e."s, storage + storage),
        "storage 0: appears twice"}},
      kTorchName, parse_torch_file);
}

TEST(TorchPickle, refuses_pickles_cut_at_every_byte) {
  const std::string pickle = torch_pickle({{"a", "FloatStorage", "0", 6, 0, {6}, {1}}});
  for (size_t n = 0; n < pickle.size(); ++n) {
    const auto found = parse_torch_file(with_pickle(pickle.substr(0, n)));
    ASSERT_FALSE(found) << n;
    EXPECT_TRUE(found.error().message.starts_with("test.bin: data.pkl: offset "))
        << found.error().message;
  }
}

TEST(TorchPickle, runs_no_code_of_a_pickle) {
  const auto calls = [](const std::string& global) {
    return with_pickle(
        fmt::format("\x80\x02"
                    "c{}\n)R.",
                    global));
  };
  expect_messages(
      {{calls("os\nsystem"),
        "data.pkl: offset 2: the name \"os.system\" is not allowed in a state dict and is not "
        "run"},
       {calls("builtins\neval"),
        "data.pkl: offset 2: the name \"builtins.eval\" is not allowed in a state dict and "
        "is not run"},
       {calls("torch\nload"),
        "data.pkl: offset 2: the name \"torch.load\" is not allowed in a state dict and is "
        "not run"},
       {with_pickle("\x80\x02(iposix\nsystem\n."),
        "data.pkl: offset 3: the pickle instruction 0x69 is not supported"},
       {with_pickle("\x80\x04\x8c\x02os\x8c\x06system\x93."),
        "data.pkl: offset 0: protocol 4 is not supported (supported: 2, which torch.save uses)"}},
      kTorchName, parse_torch_file);
}

TEST(TorchPickle, names_the_wrong_value_of_an_inconsistent_pickle) {
  const auto tensor = [](int32_t elements, int32_t offset, std::vector<int32_t> shape,
                         std::vector<int32_t> strides) {
    return one({"a", "FloatStorage", "0", elements, offset, std::move(shape), std::move(strides)});
  };
  const auto pickle = [](const std::string& body) {
    return with_pickle(std::string("\x80\x02").append(body));
  };
  const std::string a = "tensor \"a\": ", p = "data.pkl: offset ";
  expect_messages(
      {{tensor(6, 0, {7}, {1}),
        a + "shape [7] with strides [1] from 0 on reaches element 6 of a storage of 6"},
       {tensor(6, 6, {1}, {1}),
        a + "shape [1] with strides [1] from 6 on reaches element 6 of a storage of 6"},
       {tensor(6, -1, {1}, {1}), a + "offset -1"},
       {tensor(6, 0, {-2}, {1}), a + "shape: expected at least 0, found -2"},
       {tensor(6, 0, {2}, {-1}), a + "strides [-1]"},
       {tensor(6, 0, {INT32_MAX, INT32_MAX, INT32_MAX}, {0, 0, 0}),
        a + "shape [2147483647, 2147483647, 2147483647] has more elements than fit"},
       {tensor(6, 0, {1 << 20, 1 << 20}, {0, 0}),
        a +
            "with it, tensors that are not contiguous take 4398046511104 bytes, more than the "
            "file's " +
            std::to_string(tensor(6, 0, {1, 1}, {0, 0}).size())},
       {tensor(7, 0, {6}, {1}), a + "storage 0: 7 F32 take 28 bytes, found 24"},
       {tensor(-1, 0, {6}, {1}), p + "123: expected the id of a storage"},
       {tensor(6, 0, {6}, {}), p + "167: a tensor with invalid arguments"},
       {one({"a", "FloatStorage", "../0", 6, 0, {6}, {1}}), a + "its storage ../0 is missing"},
       {one({"a", "TypedStorage", "0", 6, 0, {6}, {1}}),
        p + "83: the name \"torch.TypedStorage\" is not allowed in a state dict and is not "
            "run"},
       {torch_file(torch_pickle({{"a", "FloatStorage", "0", 6, 0, {6}, {1}},
                                 {"a", "FloatStorage", "0", 6, 0, {6}, {1}}}),
                   {{"0", std::string(24, '1')}}),
        a + "tensor \"a\" appears twice"},
       {pickle("."), p + "2: ends with 0 values, expected 1"},
       {pickle("N."), "data.pkl: expected a dict of tensors"},
       {pickle("}(NNu."), "data.pkl: a key that is not a string"},
       {pickle("}(Nu."), p + "5: a key without a value"},
       {pickle("u"), p + "2: no mark on the stack"},
       {pickle("\x85"), p + "2: takes 1 values off a stack of 0"},
       {pickle("N(\x85"), p + "4: takes 1 values off a stack of 0"},
       {pickle("h\x07"), p + "2: nothing was stored as 7"},
       {pickle("q\x07"), p + "2: an empty stack"},
       {pickle("X\xff\xff\xff\xff"), p + "2: expected 4294967295 bytes, found 0"},
       {pickle("\x8a\x09"), p + "2: an integer of 9 bytes"},
       {pickle("NNs"), p + "4: an empty stack"},
       {pickle("NNNs"), p + "5: expected a dict on the stack"},
       {pickle("NQ"), p + "3: expected the id of a storage"},
       {pickle("NNR"), p + "4: expected a name and its arguments on the stack"},
       {pickle("ccollections\nOrderedDict\nN\x85R"),
        p + "29: \"collections OrderedDict\" with invalid arguments"},
       {pickle("cx"), p + "2: an unterminated name"}},
      kTorchName, parse_torch_file);
}

TEST(TorchPickle, names_the_wrong_value_of_an_inconsistent_zip_file) {
  const std::string good = zip_file({{"data.pkl", "\x80\x02}."}}, false);
  ASSERT_TRUE(parse_torch_file(good)) << parse_torch_file(good).error().message;
  // The local header takes 38 bytes and the content 4, so the directory begins at 42.
  const auto with = [&](size_t at, const std::string& bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  const std::string entry = "entry \"data.pkl\": ", big = bytes_of<uint32_t>({1 << 30});
  const size_t end = good.size() - 22;
  const std::string wide = zip_file({{"data.pkl", "\x80\x02}."}});
  const size_t wide_end = wide.size() - 22 - 20 - 56;
  const auto with_wide = [&](size_t at, uint64_t value) {
    return std::string(wide).replace(wide_end + at, 8, bytes_of<uint64_t>({value}));
  };
  expect_messages(
      {{"", "not a file written by torch.save"},
       {good.substr(0, end), "no zip end record in the last 96 bytes"},
       {with(42 + 8, "\x01"), entry + "is encrypted, which is not supported"},
       {with(42 + 10, "\x08"), entry + "is compressed (method 8), which is not supported"},
       {with(42 + 24, big), entry + "is stored and has 4 bytes of 1073741824"},
       {with(42 + 20, big + big),
        entry + "its content: 1073741824 bytes at offset 38, the file has 118"},
       {with(42 + 42, big), entry + "its header: 30 bytes at offset 1073741824, the file has 118"},
       {with(42 + 42, "\x01"), entry + "no header at offset 1"},
       {with(42 + 20, bytes_of<uint32_t>({UINT32_MAX})), entry + "its zip64 sizes are missing"},
       {with(42 + 28, bytes_of<uint16_t>({UINT16_MAX})),
        "an entry of the directory: 65535 bytes at offset 46, the file has 54"},
       {with(26, bytes_of<uint16_t>({UINT16_MAX})),
        entry + "its content: 4 bytes at offset 65565, the file has 118"},
       {with(end + 4, "\x01"), "a zip file in several parts is not supported"},
       {with(end + 10, "\x02"), "an entry of the directory is missing"},
       {with(end + 12, big), "the zip directory: 1073741824 bytes at offset 42, the file has 118"},
       {with(end + 16, big), "the zip directory: 54 bytes at offset 1073741824, the file has 118"},
       {with_wide(32, UINT64_MAX), "18446744073709551615 entries, at most 262144 are read"},
       {with_wide(40, UINT64_MAX),
        "the zip directory: 18446744073709551615 bytes at offset 42, the file has 194"},
       {std::string(wide).replace(wide_end + 56 + 8, 8, bytes_of<uint64_t>({UINT64_MAX})),
        "zip64 end record: 56 bytes at offset 18446744073709551615, the file has 194"},
       {std::string(wide).replace(wide_end + 56 + 8, 8, bytes_of<uint64_t>({1})),
        "no zip64 end record at offset 1"},
       {zip_file({{"a", "1"}, {"a", "2"}}), "entry \"a\" appears twice"},
       {zip_file({{"a", "1"}}), "no entry data.pkl: not a PyTorch checkpoint"},
       {zip_file({{"x/data.pkl", "\x80\x02}."}, {"x/byteorder", "big"}}),
        "byteorder \"big\" is not supported"}},
      kTorchName, parse_torch_file);
}

}  // namespace
}  // namespace signalbox::weights
